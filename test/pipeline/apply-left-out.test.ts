import { expect } from 'chai';
import type { Command } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { useDatabase } from '../support/database/database.js';
import { totalOf } from '../support/shop/change.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

const stock = 'SELECT 1 FROM stock WHERE shop_id = :shopId AND material_id = :materialId FOR NO KEY UPDATE';
const fields = 'SELECT 1 FROM materials WHERE shop_id = :shopId AND id = :materialId FOR NO KEY UPDATE';
const place = 'SELECT 1 FROM locations WHERE shop_id = :shopId AND id = :locationId FOR UPDATE';

describe('the apply step beside a session that holds', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(postgres.database, { materials: 2 })));

  const booking = (locationId: string): Command => ({ kind: 'adjust', rows: [{ locationId, delta: toMicros(1) }] });
  const written = (): Command => ({ kind: 'update', changes: { inventoryQuantity: toMicros(1) } });
  const held: [what: string, lock: string, command: (locationId: string) => Command][] = [
    ['a material', stock, booking],
    ['the fields of a material that are to be changed', fields, written],
    ['a location where a first level is to be booked', place, booking],
    ['the default location, where a written total makes a first level', place, written],
  ];
  for (const [what, lock, command] of held) {
    it(`${what} leaves that material out in its one transaction, and waits for nobody`, async () => {
      const { shopId, locationIds, materialIds } = shop;
      const [here = '', there = ''] = locationIds;
      const [[materialId = '', beside = ''], free] = [materialIds, operationOf(booking(there))];
      const groups = [
        { shopId, materialId, operations: [operationOf(command(here))] },
        { shopId, materialId: beside, operations: [free] },
      ];
      const apply = () => applyOperations(postgres.database, groups, { nowMs: Date.now });
      const { leftOut, outcomes } = await postgres.database.transaction(async (other) => {
        await other.raw(lock, { shopId, materialId, locationId: here });
        return apply();
      });
      expect(leftOut.map((ref) => ref.materialId)).to.deep.equal([materialId]);
      expect([...outcomes.keys()]).to.deep.equal([free.id]);
      expect(await totalOf(postgres.database, shop, materialId)).to.equal(0);
      expect((await apply()).leftOut).to.deep.equal([]);
      expect(await totalOf(postgres.database, shop, materialId)).to.equal(1);
    });
  }
});
