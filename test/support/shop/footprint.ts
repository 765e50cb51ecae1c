import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Database } from '../../../shared/database/connect.js';
import { queueName, queuePrefix } from '../../../shared/queue/names.js';
import { until } from '../time/until.js';

export interface Footprint {
  /** Keys of queues of the shop's materials in Redis. */
  queueKeys: string[];
  /** What a write leaves in Postgres, row by row. */
  rows: Record<string, unknown[]>;
}

interface Stores {
  database: Database;
  redis: Redis;
}

const tables = ['materials', 'stock', 'levels', 'ledger', 'operations'] as const;

/**
 * All that a write to a shop's materials could leave: what is queued and what is stored. A queue empties by itself, but
 * then an operation is on record: a footprint that stays the same shows that nothing was queued and nothing stored.
 */
async function footprint({ database, redis }: Stores, shopId: number): Promise<Footprint> {
  const prefix = `${queuePrefix}:${queueName({ shopId, materialId: '' })}`;
  const queueKeys = await redis.keys(`${prefix}*`);
  const rows: Record<string, unknown[]> = {};
  for (const table of tables) {
    const found = await database.raw<{ rows: { row: unknown }[] }>(
      `SELECT to_jsonb(t) AS row FROM ${table} t WHERE shop_id = ? ORDER BY to_jsonb(t)::text`,
      [shopId],
    );
    rows[table] = found.rows.map(({ row }) => row);
  }
  return { queueKeys: queueKeys.sort(), rows };
}

/** Runs `act` and fails if it left anything behind in the shop: nothing queued, nothing stored. */
export async function expectUntouched<T>(stores: Stores, shopId: number, act: () => Promise<T>): Promise<T> {
  const before = await settledFootprint(stores, shopId);
  const result = await act();
  expect(await footprint(stores, shopId)).to.deep.equal(before);
  return result;
}

const settleMsMax = 5_000;

/** Once the shop's queues are empty: a worker clears one only after it has answered. */
export async function settledFootprint(stores: Stores, shopId: number): Promise<Footprint> {
  return until(
    async () => {
      const found = await footprint(stores, shopId);
      return found.queueKeys.length === 0 ? found : undefined;
    },
    { deadlineMs: settleMsMax, what: `the queues of shop ${String(shopId)} to be gone from Redis` },
  );
}
