import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { CommonRedisOptions } from 'ioredis';
import { ServerUnusable } from '../domain/server-unusable.js';

/**
 * The Redis connections of a process, named for their use; their number never grows with the number of materials.
 *
 * Common to all: a lost connection is tried again within half a second (ioredis' own pauses grow to 5 s, BullMQ's to
 * 20), commands are never sent twice (a fetch that is sent again takes a second job ahead of the first, pipeline §2.5),
 * and a socket that owes an answer and is silent for two seconds is given up, which also ends half-open connections.
 */
interface Options extends Omit<CommonRedisOptions, 'replyMapping'> {
  /** Replaces the bound of two seconds. */
  silenceMs?: number;
}

const reconnectMsMax = 500;
const silenceMsMax = 2_000;

const common: Options = {
  retryStrategy: (attempt) => Math.min(attempt * 50, reconnectMsMax),
  // While Redis loads its file it estimates the rest by bytes, which is too long if small keys come first, and ioredis
  // would wait up to 10 s (Redis was ready after 5.9 s, and had its first command after 11.2).
  maxLoadingRetryTime: reconnectMsMax,
  autoResendUnfulfilledCommands: false,
  connectTimeout: 2_000,
  // Not null: with null, and without resending, ioredis forgets the commands in flight on a lost connection, and their
  // promises never settle (closeHandler in redis/event_handler.js). 0 rejects them at every loss.
  maxRetriesPerRequest: 0,
};

/** Refuses commands at once while Redis is away, so that a request that cannot be queued is answered, not held. */
const failFast: Options = { ...common, enableOfflineQueue: false };

type OnError = (error: Error) => void;

/** The API's connection that adds jobs. */
export function connectProducerRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...failFast, connectionName: 'raw-materials-producer' }, onError);
}

/**
 * The API's subscription to its reply channel. Its user subscribes at each `ready`: if ioredis does so by itself,
 * nobody can catch a refusal by Redis (missing rights), and one ended the process.
 */
export function connectRepliesRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...common, autoResubscribe: false, connectionName: 'raw-materials-replies' }, onError);
}

/** The limiter's own, so that it never stands behind the queue's commands (pipeline §5). */
export function connectLimiterRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...failFast, connectionName: 'raw-materials-limiter' }, onError);
}

/**
 * The worker's connection for every command that does not block.
 *
 * @param silenceMs replaces the bound of two seconds
 */
export function connectWorkerRedis(url: string, onError: OnError, silenceMs = silenceMsMax): Redis {
  return connect(url, { ...failFast, silenceMs, connectionName: 'raw-materials-worker' }, onError);
}

/** The worker's connection that waits for work. A wait is silent, so its bound is twice that of the others. */
export function connectWakeRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...failFast, silenceMs: 2 * silenceMsMax, connectionName: 'raw-materials-wake' }, onError);
}

/** The queue page's own, opened when somebody looks at it, so that nothing else waits behind its commands. */
export function connectQueuePageRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...failFast, connectionName: 'raw-materials-queue-page' }, onError);
}

/** For an error in a script, Redis 6.2 puts the place in the script and a dash before it. */
const refusesWrites = /^(?:.* -)?READONLY /;

/**
 * A demoted primary keeps its connections, and refuses every write on them for ever. A new connection helps once the
 * address leads to the new primary. Until then it does not, so none is made more often than while Redis is away.
 */
function leaveReplica(): (error: Error) => boolean {
  let leftAtMs = -Infinity;
  return (error) => {
    if (!refusesWrites.test(error.message) || performance.now() - leftAtMs < reconnectMsMax) return false;
    leftAtMs = performance.now();
    return true;
  };
}

const lookEveryMs = 100;

/**
 * Gives up a connection whose socket owes an answer and is silent. Silence is counted in looks at the socket, not by
 * the clock: when a process that stood still goes on, ioredis' own `socketTimeout` ends the connection before the
 * answers that have arrived are read, and everything in flight is lost.
 */
function endSilence(redis: Redis, silenceMs: number): void {
  let heardBytes = 0;
  let silentLooks = 0;
  const looking = setInterval(() => {
    const { status, stream, commandQueue } = redis;
    const isOwed = (status === 'connect' || status === 'ready') && commandQueue.length > 0;
    const isSilent = isOwed && stream.bytesRead === heardBytes;
    silentLooks = isSilent ? silentLooks + 1 : 0;
    if (isOwed) heardBytes = stream.bytesRead;
    if (silentLooks * lookEveryMs < silenceMs) return;
    stream.destroy(new Error(`Redis owed an answer for ${silenceMs} ms.`));
    silentLooks = 0;
  }, lookEveryMs);
  // Watching the connection must not be what keeps a process alive.
  looking.unref();
  redis.once('end', () => clearInterval(looking));
}

/**
 * If Redis refuses SELECT, because it does not have a database of this number, ioredis goes on with number 0, which may
 * be another installation's. A connection that is given up at this point, in its handshake, never becomes `ready`.
 */
const isRefusedNumber = (error: Error & { command?: { name?: string } }) => error.command?.name === 'select';

function connect(url: string, { silenceMs = silenceMsMax, ...options }: Options, onError: OnError): Redis {
  const redis = new Redis(url, { ...options, reconnectOnError: leaveReplica() });
  endSilence(redis, silenceMs);
  // Each connection tries an absent Redis twice a second. Each error is reported once, until Redis is back.
  const said = new Set<string>();
  redis.on('ready', () => said.clear());
  // An `error` event without a listener ends the process.
  redis.on('error', (error) => {
    if (isRefusedNumber(error)) redis.disconnect(true);
    if (said.has(error.message)) return;
    said.add(error.message);
    onError(error);
  });
  return redis;
}

/** Calls `ready` each time that one of these connections becomes ready and so all of them are. */
export function onAllReady(connections: readonly Redis[], ready: () => void): void {
  const lookAround = () => {
    if (connections.every(({ status }) => status === 'ready')) ready();
  };
  for (const connection of connections) connection.on('ready', lookAround);
}

const readyMsMax = 5_000;

/**
 * Waits for a new connection to be usable.
 *
 * @throws ServerUnusable if it is not within five seconds, naming its last failure
 */
export async function untilReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    let lastError: Error | undefined;
    const remember = (error: Error) => {
      // After a refused number comes the error that the connection was given up, which says less.
      if (lastError === undefined || !isRefusedNumber(lastError)) lastError = error;
    };
    const timer = setTimeout(() => {
      redis.off('ready', succeed).off('error', remember);
      const isThere = redis.status === 'connect';
      const reason = isThere ? 'it is there, and may still be loading its file' : lastError?.message;
      reject(new ServerUnusable(`Redis did not answer within ${readyMsMax} ms: ${reason ?? 'no connection'}`));
    }, readyMsMax);
    const succeed = () => {
      clearTimeout(timer);
      redis.off('error', remember);
      resolve();
    };
    redis.once('ready', succeed).on('error', remember);
  });
}

/** As long as a starting process waits for Postgres. */
const takesWritesMsMax = 10_000;
const againMs = 200;

/**
 * Waits for Redis to take what a starting process has to write. After a fail-over, for example, it refuses that for a
 * while.
 *
 * @param write tried again after each refusal
 * @returns what it resolves with
 * @throws ServerUnusable, caused by the last refusal, after ten seconds
 */
export async function untilTakesWrites<T>(write: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + takesWritesMsMax;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      // The log puts the reason behind it.
      if (performance.now() > endMs) throw new ServerUnusable('Redis takes no writes', { cause: error });
      await sleep(againMs);
    }
  }
}
