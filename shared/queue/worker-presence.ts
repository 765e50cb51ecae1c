import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { createLostTakes } from './lost-takes.js';
import { keys } from './names.js';
import { runScript } from './run-script.js';

/**
 * A worker's presence in Redis. Its id, under which it beats and takes leases, is the number that Redis gave its
 * connection. A killed process loses its connection at once, seconds before its heartbeat and its leases run out, and
 * Redis does not give a number twice while it runs. So another worker that finds the connection gone can free at once
 * what this one held (pipeline §2.9). If the worker lives and has only lost its connection, that is as safe as a lease
 * that ran out: what it applies is on record.
 */
export interface WorkerPresence {
  /** A token for one take, which names its owner. */
  newToken(): string;
  /** Of the database that this worker writes to (`readDatabaseIdentity`), if it is known. */
  databaseIdentity(): string | undefined;
  /** @throws ServesAnotherDatabase while workers of another database are alive, who are to apply what is queued */
  assertServes(): void;
  /** Tells Redis that this worker lives, and learns whether workers of another database do. */
  beat(): Promise<void>;
  /**
   * Tells that this worker cannot use Postgres, for as long as that is told again every few seconds, or that it can.
   * Meanwhile it does not count as one that serves.
   */
  tellCutOff: (isCutOff: boolean) => Promise<void>;
  /**
   * Tells that the answer to a take did not come. If Redis has run it, or does so later, nobody works on what it took.
   */
  answerLost: (token: string) => void;
  /**
   * Frees the leases of workers that are listed as live and whose connection is gone, and those of this worker's takes
   * whose answers were lost.
   */
  buryGone(): Promise<void>;
  /**
   * Removes this worker from the list, and frees what was taken for it and never reached it. Its lanes have ended, and
   * hold nothing.
   */
  leave(): Promise<void>;
}

/** Two beats may be lost before the API counts the worker as gone. */
const beatLastsMs = 3_000;
/** Longer than a worker asks Postgres in vain before it tells so again. */
const cutOffLastsMs = 10_000;

/**
 * Two installations on one Redis would take each other's jobs: a change would be answered as done, and be in the
 * other's database. So only the workers of one database at a time are listed, and those that come later wait until
 * these are gone.
 */
export class ServesAnotherDatabase extends Error {
  constructor() {
    super('workers of another database are alive on this Redis; each installation needs one of its own (REDIS_URL)');
  }
}

/**
 * @param redis a connection that is ready and knows the scripts; its number changes with every reconnect
 * @param databaseIdentity of the database that this worker writes to (`readDatabaseIdentity`); undefined while it is
 *   unknown
 */
export async function createWorkerPresence(
  redis: Redis,
  databaseIdentity: () => string | undefined = () => undefined,
): Promise<WorkerPresence> {
  let id: string | undefined;
  /** The database that the last beat named. */
  let namedDatabase = '';
  let isShutOut = false;
  let lastBeat = Promise.resolve();
  let hasLeft = false;
  const lostTakes = createLostTakes();

  function beat(): Promise<void> {
    if (!hasLeft) lastBeat = writeBeat();
    return lastBeat;
  }

  async function writeBeat(): Promise<void> {
    id = String(await redis.client('ID'));
    const database = databaseIdentity() ?? '';
    isShutOut = (await runScript(redis, 'rmBeat', id, beatLastsMs, database, namedDatabase)) !== '';
    namedDatabase = database;
  }

  async function freeLost(): Promise<void> {
    const lost = lostTakes.tokens();
    if (lost.length === 0) return;
    await runScript(redis, 'rmBury', ...lost);
    lostTakes.freed(lost);
  }

  await beat();
  // Leases that are taken under the number of a lost connection would be freed as those of a dead worker. Without a
  // number they are kept until they run out.
  redis.on('close', () => (id = undefined));
  redis.on('ready', () => {
    // With the connection, answers may have been lost.
    beat()
      .then(freeLost)
      .catch(() => undefined);
  });
  return {
    newToken: () => `${id ?? ''}.${randomUUID()}`,
    databaseIdentity,
    assertServes() {
      if (isShutOut) throw new ServesAnotherDatabase();
    },
    beat,
    async tellCutOff(isCutOff) {
      if (id === undefined) return;
      const key = `${keys.cutOff}:${id}`;
      await (isCutOff ? redis.set(key, '', 'PX', cutOffLastsMs) : redis.del(key));
    },
    answerLost: lostTakes.add,
    async buryGone() {
      await freeLost();
      const gone = await goneWorkers(redis, id);
      if (gone.length > 0) await runScript(redis, 'rmBury', ...gone);
    },
    async leave() {
      hasLeft = true;
      // A beat under way would put the worker on the list again.
      await lastBeat.catch(() => undefined);
      if (id === undefined) return;
      await Promise.all([runScript(redis, 'rmBury', id, ...lostTakes.tokens()), runScript(redis, 'rmBeat', id, 0, '')]);
    },
  };
}

/** The workers on the list whose connection is gone; none while our own has no number (`own`). */
async function goneWorkers(redis: Redis, own: string | undefined): Promise<string[]> {
  const listed = await redis.zrange(keys.workers, '0', '-1');
  if (own === undefined) return [];
  const connected = connectionIds(String(await redis.client('LIST', 'ID', own, ...listed)));
  // Through a proxy the numbers may be those of other connections, and live workers would be taken for dead.
  return connected.has(own) ? listed.filter((worker) => !connected.has(worker)) : [];
}

/** The numbers in the answer of `CLIENT LIST`, which has a line for each connection: `id=8 addr=…`. */
function connectionIds(list: string): Set<string> {
  return new Set(list.split('\n').flatMap((line) => /^id=(\d+) /.exec(line)?.[1] ?? []));
}
