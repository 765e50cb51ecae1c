import { expect } from 'chai';
import type { Operation } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

describe('how Postgres plans the statements of the apply step', () => {
  /** One session, whose plans are those that count. */
  const postgres = useDatabase({ poolMax: 1, pipeline: true });
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(postgres.database)));

  /** An adjustment and a field update, which between them send each of the statements that work on a material. */
  async function applyBoth(): Promise<void> {
    const [materialId = ''] = shop.materialIds;
    const [locationId = ''] = shop.locationIds;
    const operations: Operation[] = [
      operationOf({ kind: 'adjust', rows: [{ locationId, delta: toMicros(3) }] }),
      operationOf({ kind: 'update', changes: { sku: 'S', vendor: 'Acme' } }),
    ];
    const group = { shopId: shop.shopId, materialId, operations };
    const { outcomes } = await applyOperations(postgres.database, [group], { nowMs: Date.now });
    expect([...outcomes.values()].map(({ status }) => status)).to.deep.equal(['executed', 'executed']);
  }

  it('reads no table from end to end, not even a small one: the plan is kept when that has grown', async () => {
    const scans = async () => {
      await postgres.database.raw('SELECT pg_stat_force_next_flush()');
      const { rows } = await postgres.database.raw<{ rows: { relname: string; seq_scan: string }[] }>(
        `SELECT relname, seq_scan FROM pg_stat_user_tables
         WHERE relname IN ('stock', 'levels', 'materials', 'operations', 'locations') ORDER BY relname`,
      );
      return rows;
    };
    const before = await scans();
    expect(before).to.have.lengthOf(5);
    await applyBoth();
    expect(await scans()).to.deep.equal(before);
  });

  it('are planned once in a session, whatever their values', async () => {
    for (const _ of [1, 2]) await applyBoth();
    const { rows } = await postgres.database.raw<{ rows: { name: string; custom_plans: string }[] }>(
      `SELECT name, custom_plans FROM pg_prepared_statements WHERE name LIKE 'apply-%'`,
    );
    expect(rows.map(({ name }) => name)).to.include.members([
      'apply-lock',
      'apply-read',
      'apply-write',
      'apply-fields',
    ]);
    expect(rows.filter(({ custom_plans: count }) => Number(count) > 0)).to.deep.equal([]);
  });
});
