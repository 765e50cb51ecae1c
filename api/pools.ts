import { connectDatabase } from '../shared/database/connect.js';
import type { Database } from '../shared/database/connect.js';
import { poolUse } from '../shared/database/pool-use.js';
import type { PoolUse } from '../shared/metrics/gauges.js';
import type { ApiSettings } from './config.js';
import { createReads } from './reads.js';
import type { Reads } from './reads.js';

/** The Postgres connections of an API process. */
export interface Pools {
  /** For the process' own questions, each of them short: keys, health, outcomes. */
  database: Database;
  /** For what clients read. */
  reads: Reads;
  /** What waits because all connections are taken; a read that waits for its shop's turn is not among it. */
  use: () => PoolUse;
  destroy: () => Promise<void>;
}

/** Shared by the look-ups of keys, the health probe, and the follow-up's look-ups and cancellations. */
const ownConnectionsMax = 3;

/**
 * One of the process' own questions that is unanswered for this long is given up, and its connection with it (without
 * that, look-ups of keys behind a lock on `shops` left 14 sessions in Postgres in 21 s). The health probe waits as
 * long before it is asked again, and meanwhile every write is refused. Must be above the two seconds that a cancellation
 * gives Postgres.
 */
const ownAnswerMsMax = 5_000;

/** Opens no connection yet. */
export function createPools({
  DATABASE_URL: url,
  DATABASE_POOL_MAX: connectionsMax,
  READ_TIMEOUT_MS: readMsMax,
}: Pick<ApiSettings, 'DATABASE_URL' | 'DATABASE_POOL_MAX' | 'READ_TIMEOUT_MS'>): Pools {
  const connect = (poolMax: number, answerMsMax: number) =>
    connectDatabase({ url, poolMax, applicationName: 'raw-materials-api', answerMsMax });
  const ownMax = Math.min(ownConnectionsMax, Math.floor(connectionsMax / 2));
  const readsMax = connectionsMax - ownMax;
  const [database, readDatabase] = [connect(ownMax, ownAnswerMsMax), connect(readsMax, readMsMax)];
  const reads = createReads({ database: readDatabase, connectionsMax: readsMax });
  return {
    database,
    reads,
    use() {
      const [own, read] = [poolUse(database), poolUse(readDatabase)];
      const waiting = own.waiting + read.waiting + reads.waitingForConnection();
      return { used: own.used + read.used, free: own.free + read.free, waiting };
    },
    async destroy() {
      await Promise.all([database.destroy(), readDatabase.destroy()]);
    },
  };
}
