import type { Redis } from 'ioredis';
import { reasonWithoutStatement } from '../../shared/database/errors.js';
import { runScript } from '../../shared/queue/run-script.js';
import { ServesAnotherDatabase } from '../../shared/queue/worker-presence.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import { startRunningClock } from '../../shared/runtime/running-clock.js';
import type { DispatchState } from './dispatch-metrics.js';
import { createProbe } from './probe.js';

/**
 * What the API knows of Postgres, Redis and the workers. It asks them twice a second, and more often while one is away
 * or did not answer, so that refusing a request costs nothing.
 */
export interface Health {
  /** Why nothing of this shop can be queued now, or undefined. */
  refusal(shopId: number): string | undefined;
  /** Of the database that this process writes to (`readDatabaseIdentity`); undefined while it is unknown. */
  databaseIdentity(): string | undefined;
  /** The time by Redis' clock, in milliseconds since the epoch. */
  redisNowMs(): number;
  /** Which of them answer now, and take writes. */
  ready(): { postgres: boolean; redis: boolean; worker: boolean };
  pipeline(): DispatchState['pipeline'];
  stop(): void;
}

/** While a part is away every write is refused, so it is asked more often. */
const askEvery = { wellMs: 500, unwellMs: 100 };
/**
 * A part counts as away when its last good answer is older than this, so a short failure or a slow answer does no harm.
 * Measured by the running clock: nobody goes away while this process stands still.
 */
const answerLastsMs = 1_500;
/** Workers that are started beside this process, or come back with Redis, may take so long, and are not missed before. */
const workerStartMsMax = 5_000;
/** A shop's oldest ready material may wait this long before its new work is refused (pipeline §2 "Limits"). */
const backlogAgeMsMax = 3_000;

/** What Redis says of the queue. */
interface QueueStatus {
  nowMs: number;
  liveWorkers: number;
  oldestReadyMs: number;
  readyMaterials: number;
  lateShops: Set<number>;
  /** Whether the live workers write to another database than this process. */
  servesAnotherDatabase: boolean;
  /** Why Postgres refuses what the workers write (`tellRefusal`), or empty. */
  postgresRefusal: string;
}

type StatusAnswer = [
  nowMs: number,
  workers: number,
  oldestReadyMs: number,
  readyMaterials: number,
  otherDatabase: string,
  postgresRefusal: string,
  ...lateShops: string[],
];

/**
 * @param askPostgres `createStorageQuestion`: rejects while Postgres takes no writes of ours; its answer is the identity
 *   of the database, if that can be known
 */
export async function startHealth(
  redis: Redis,
  askPostgres: () => Promise<string | undefined>,
  logger: Logger,
): Promise<Health> {
  const clock = startRunningClock();
  const isRecent = (answeredMs: number) => clock.nowMs() - answeredMs < answerLastsMs;
  let redisAnsweredMs = -Infinity;
  const workers = createWorkerLiveness();
  let postgresAnsweredMs = -Infinity;
  let databaseIdentity: string | undefined;
  const redisClock = createRedisClock();
  let status: QueueStatus | undefined;

  const redisProbe = createProbe(
    async () => {
      const sentMs = performance.now();
      status = await readStatus(redis, databaseIdentity);
      const { nowMs, liveWorkers, servesAnotherDatabase } = status;
      redisClock.heard(nowMs, sentMs);
      redisAnsweredMs = clock.nowMs();
      if (servesAnotherDatabase) {
        workers.forget();
        throw new ServesAnotherDatabase();
      }
      workers.counted(liveWorkers, redisAnsweredMs);
      return liveWorkers > 0;
    },
    askEvery,
    logRecurring(logger, 'The queue is not served.'),
  );
  // The next connection may lead to another Redis: what this one said of itself and of its workers no longer counts.
  const forget = () => {
    redisAnsweredMs = -Infinity;
    workers.forget();
  };
  const askAfresh = () => void redisProbe.askNow();
  redis.on('close', forget).on('ready', askAfresh);

  const postgresProbe = createProbe(
    async () => {
      databaseIdentity = await askPostgres();
      // What the workers last said before Redis went away has lapsed meanwhile.
      if (isRecent(redisAnsweredMs)) assertNotRefused(status);
      postgresAnsweredMs = clock.nowMs();
      return true;
    },
    askEvery,
    logRecurring(logger, 'Postgres is away, or takes no writes of ours.', reasonWithoutStatement),
  );
  // In this order: only when our database is known can Redis tell whether the workers serve another.
  await postgresProbe.askNow();
  await redisProbe.askNow();

  const ready = () => ({
    postgres: isRecent(postgresAnsweredMs),
    redis: redis.status === 'ready' && isRecent(redisAnsweredMs),
    worker: isRecent(workers.seenMs()),
  });

  return {
    ready,
    refusal: (shopId) => refusalOf(ready(), status?.lateShops.has(shopId) === true),
    databaseIdentity: () => databaseIdentity,
    pipeline: () => (ready().redis ? status : undefined),
    redisNowMs: redisClock.nowMs,
    stop() {
      redisProbe.stop();
      postgresProbe.stop();
      clock.stop();
      redis.off('close', forget).off('ready', askAfresh);
    },
  };
}

interface WorkerLiveness {
  /** @throws once none has been alive for so long that writes are refused */
  counted: (live: number, atMs: number) => void;
  /** What was heard counts no longer. Workers that come back with Redis have beats that ran out, or none in another. */
  forget: () => void;
  /** When one was last heard of; -Infinity if none was. */
  seenMs: () => number;
}

function createWorkerLiveness(): WorkerLiveness {
  let seenMs = -Infinity;
  let missedMs = Infinity;
  return {
    counted(live, atMs) {
      if (live > 0) {
        seenMs = atMs;
        missedMs = atMs + answerLastsMs;
        return;
      }
      missedMs = Math.min(missedMs, atMs + workerStartMsMax);
      if (atMs >= missedMs) throw new Error('no worker of this database is alive and can use it');
    },
    forget() {
      seenMs = -Infinity;
      missedMs = Infinity;
    },
    seenMs: () => seenMs,
  };
}

function refusalOf({ redis, postgres, worker }: ReturnType<Health['ready']>, isLate: boolean): string | undefined {
  if (!redis) return 'The queue is not reachable, or takes no writes.';
  if (!postgres) return 'The database is not reachable, or takes no writes.';
  if (!worker) return 'No worker of this database is running, or none can use it.';
  return isLate ? "The shop's backlog is too deep." : undefined;
}

interface RedisClock {
  /** In milliseconds since the epoch. */
  nowMs: () => number;
  /** Redis said that it is `redisMs`, when asked at `sentMs` by `performance.now()`. */
  heard: (redisMs: number, sentMs: number) => void;
}

function createRedisClock(): RedisClock {
  /**
   * What Redis' clock is ahead of `performance.now()`, not of `Date.now()`: that can be set, and would misdate what is
   * accepted until Redis is asked again.
   */
  let aheadMs = 0;
  return {
    nowMs: () => Math.round(performance.now() + aheadMs),
    heard(redisMs, sentMs) {
      // Redis read its clock at some moment between `sentMs` and now, which are hours apart if this process was
      // stopped. What it is ahead lies between these two bounds, and within them the earlier estimate is kept.
      aheadMs = Math.min(Math.max(aheadMs, redisMs - performance.now()), redisMs - sentMs);
    },
  };
}

/** A Postgres whose disk is full says nothing of it to who asks; it is the workers' writes that it refuses. */
function assertNotRefused({ postgresRefusal = '' }: Partial<QueueStatus> = {}): void {
  if (postgresRefusal !== '') throw new Error(`workers are refused what they write: ${postgresRefusal}`);
}

async function readStatus(redis: Redis, databaseIdentity = ''): Promise<QueueStatus> {
  const answer = (await runScript(redis, 'rmStatus', backlogAgeMsMax, databaseIdentity)) as StatusAnswer;
  const [nowMs, liveWorkers, oldestReadyMs, readyMaterials, other, postgresRefusal, ...late] = answer;
  const lateShops = new Set(late.map(Number));
  const servesAnotherDatabase = other !== '';
  return { nowMs, liveWorkers, oldestReadyMs, readyMaterials, lateShops, servesAnotherDatabase, postgresRefusal };
}
