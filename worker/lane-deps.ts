import type { Redis } from 'ioredis';
import type { Database } from '../shared/database/connect.js';
import type { WorkerPresence } from '../shared/queue/worker-presence.js';
import type { Logger } from '../shared/runtime/logger.js';
import type { CycleFaults } from './cycle-faults.js';
import type { LedgerWatch } from './ledger-watch.js';
import type { LeftOutWarning } from './left-out-warning.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** What the lanes of a worker process share. */
export interface LaneDeps {
  /** For every command that does not block. */
  redis: Redis;
  presence: WorkerPresence;
  database: Database;
  logger: Logger;
  faults: CycleFaults;
  /** How long an `Idempotency-Key` is remembered. */
  keyMemoryMs: number;
  metrics: WorkerMetrics;
  ledgerWatch: LedgerWatch;
  warnOfLeftOut: LeftOutWarning;
}
