import { expect } from 'chai';
import { cancelOperations } from '../../shared/database/operations.js';
import { toMicros } from '../../shared/domain/quantity.js';
import type { Operation } from '../../shared/domain/operation.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

describe('operations of one transaction go on record in the order of their ids, so that two cannot deadlock,', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(postgres.database)));

  const apply = (materialId: string, operations: Operation[]) =>
    applyOperations(postgres.database, [{ shopId: shop.shopId, materialId, operations }], { nowMs: Date.now });
  const ways: [who: string, record: (operations: Operation[]) => Promise<unknown>][] = [
    ['where they are applied', (operations) => apply(shop.materialIds[0] ?? '', operations)],
    ['where there is no such material', (operations) => apply('VMAT-VAR-none', operations)],
    [
      'where they are cancelled',
      (operations) => {
        const { shopId } = shop;
        const refs = operations.map(({ id }) => ({ shopId, materialId: 'VMAT-VAR-none', id }));
        return cancelOperations(postgres.database, refs);
      },
    ],
  ];
  for (const [who, record] of ways) {
    it(who, async () => {
      const rows = [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(1) }];
      const operations = Array.from({ length: 3 }, () => operationOf({ kind: 'adjust', rows }));
      await record(operations.toReversed());
      // The place of a row in a table that nobody has deleted from is when it was written.
      const recorded = await postgres.database.raw<{ rows: { op_id: string }[] }>(
        'SELECT op_id FROM operations WHERE shop_id = ? ORDER BY ctid',
        [shop.shopId],
      );
      expect(recorded.rows.map((row) => row.op_id)).to.deep.equal(operations.map(({ id }) => id));
    });
  }
});
