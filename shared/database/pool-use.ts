import type { Database } from './connect.js';

/** The connections of a pool now: lent, idle, and how many wait for one. */
export function poolUse(database: Database): { used: number; free: number; waiting: number } {
  // Knex's type of its client is `any`; the pool is tarn's.
  const { pool } = database.client as { pool: Pool | undefined };
  // A pool that was destroyed is gone.
  if (pool === undefined) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}

interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}
