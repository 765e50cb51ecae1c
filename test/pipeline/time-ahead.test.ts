import { expect } from 'chai';
import type { Operation } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

const [dayMs, minuteMs] = [86_400_000, 60_000];

describe('a material that was booked while the clock of Postgres was ahead', () => {
  const postgres = useDatabase({ pipeline: true });

  const book = (shop: TestShop): Operation =>
    operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(1) }] });
  const apply = (...groups: [TestShop, Operation][]) =>
    applyOperations(
      postgres.database,
      groups.map(([{ shopId, materialIds }, operation]) => ({
        shopId,
        materialId: materialIds[0] ?? '',
        operations: [operation],
      })),
      { nowMs: Date.now },
    );
  /** How far each of its times is ahead of the clock now. */
  async function aheadMs({ shopId }: TestShop, { id }: Operation) {
    const { rows } = await postgres.database.raw<{ rows: { what: string; ms: number }[] }>(
      `SELECT what, CAST(extract(epoch FROM at - clock_timestamp()) * 1000 AS float8) AS ms FROM (
         SELECT 'stock' AS what, updated_at AS at FROM stock WHERE shop_id = :shopId
         UNION ALL SELECT 'level', updated_at FROM levels WHERE shop_id = :shopId
         UNION ALL SELECT 'entry', max(at) FROM ledger WHERE shop_id = :shopId
         UNION ALL SELECT 'record', recorded_at FROM operations WHERE op_id = :id) AS found`,
      { shopId, id },
    );
    return Object.fromEntries(rows.map(({ what, ms }) => [what, ms]));
  }

  it('keeps its own order by it, and hands it on to nobody; nor to what is on record, which is kept by its age', async () => {
    const [ahead, beside] = [await createTestShop(postgres.database), await createTestShop(postgres.database)];
    await apply([ahead, book(ahead)]);
    await postgres.database.raw(`UPDATE stock SET updated_at = updated_at + interval '1 day' WHERE shop_id = ?`, [
      ahead.shopId,
    ]);
    const [own, other] = [book(ahead), book(beside)];
    await apply([ahead, own], [beside, other]);
    const times = await aheadMs(ahead, own);
    for (const what of ['stock', 'level', 'entry']) expect(times[what], what).to.be.above(dayMs - minuteMs);
    expect(times['record']).to.be.below(minuteMs);
    for (const [what, ms] of Object.entries(await aheadMs(beside, other))) expect(ms, what).to.be.below(minuteMs);
  });
});
