import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import { migrationSource } from '../../../shared/database/migration-source.js';
import { keyMemoryMsDefault } from '../../../shared/inventory/time-limits.js';
import { nothingHeld } from '../../../shared/queue/leases.js';
import { createWorkerPresence } from '../../../shared/queue/worker-presence.js';
import { createCycleFaults } from '../../../worker/cycle-faults.js';
import type { LaneDeps } from '../../../worker/lane-deps.js';
import type { Waker } from '../../../worker/waker.js';
import { createWorkerMetrics } from '../../../worker/worker-metrics.js';
import type { QueueHarness } from './queue-harness.js';

/** Nobody has to wake its lane, which looks by itself. */
export const wakeful: Waker = { take: () => Promise.resolve(nothingHeld), close: () => Promise.resolve() };

/** A Postgres that takes writes, and has the schema. */
export function databaseWhose(acquireConnection: () => Promise<never>): Database {
  const client = { acquireConnection, releaseConnection: () => Promise.resolve() };
  const database = { client, raw: answerOfMigrated };
  return database as unknown as Database;
}

/** What a Postgres that takes writes, and has the schema, answers to who asks for it. */
export async function answerOfMigrated(sql: string): Promise<{ rows: object[] }> {
  if (sql.includes('FROM pg_class')) return { rows: [{ found: 'public', wanted: 'public' }] };
  return { rows: sql.includes('FROM knex_migrations') ? await migrationSource.getMigrations([]) : [] };
}

/** A Postgres session in which every statement becomes what `answer` becomes. */
export function sessionWhose(answer: () => Promise<never>): never {
  const stream = { cork: () => undefined, uncork: () => undefined };
  return { connection: { stream }, query: answer } as never;
}

/** What a lane needs, with a worker of its own. */
export async function depsOf(
  harness: QueueHarness,
  own: Pick<LaneDeps, 'database'> & Partial<LaneDeps>,
): Promise<LaneDeps> {
  const { logger = pino({ level: 'silent' }) } = own;
  return {
    redis: harness.redis,
    presence: await createWorkerPresence(harness.redis),
    logger,
    faults: createCycleFaults(logger),
    keyMemoryMs: keyMemoryMsDefault,
    metrics: createWorkerMetrics(),
    ledgerWatch: { changed: () => undefined, stop: () => Promise.resolve() },
    warnOfLeftOut: () => undefined,
    ...own,
  };
}
