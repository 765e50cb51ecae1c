import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('the check of what lists go by', () => {
  const postgres = useDatabase();
  let shopId: number;
  let otherShopId: number;
  beforeEach(async () => {
    ({ shopId } = await createTestShop(postgres.database, { materials: 0 }));
    ({ shopId: otherShopId } = await createTestShop(postgres.database, { materials: 2 }));
    await createMaterials(postgres.database, shopId, [
      { id: 'VMAT-a', origin: 'virtual', productName: 'a', vendor: 'Acme' },
      { id: 'VMAT-b', origin: 'virtual', productName: 'b', vendor: 'Acme' },
      { id: 'VMAT-c', origin: 'virtual', productName: 'c' },
    ]);
    const components = [{ materialId: 'VMAT-c', quantity: 1_000_000 }];
    await createBill(postgres.database, shopId, { id: 'bill', kind: 'bill_of_materials', name: 'bill', components });
  });

  /** Past the triggers that keep it, as what no statement of ours does. */
  const damage = (sql: string) =>
    postgres.database.transaction(async (transaction) => {
      await transaction.raw(`SET LOCAL session_replication_role = replica`);
      await transaction.raw(sql, { shopId });
    });
  const found = async (options: { shopId?: number }) => {
    const { mismatchCount, mismatches } = await checkLists(postgres.database, options);
    expect(mismatchCount).to.equal(mismatches.length);
    // Those of earlier tests are still there.
    const ofShop = mismatches.filter((mismatch) => mismatch.shopId === shopId);
    return ofShop.map(({ kind, materialId, expected, found }) => [kind, materialId ?? '-', expected, found]);
  };

  it('finds nothing in what triggers have kept, and says how much it looked at', async () => {
    const compared: number[] = [];
    const check = await checkLists(postgres.database, { shopId, onProgress: (materials) => compared.push(materials) });
    expect(check).to.deep.equal({ mismatchCount: 0, mismatches: [] });
    expect(compared.at(-1)).to.equal(3);
    expect(await checkLists(postgres.database)).to.deep.equal({ mismatchCount: 0, mismatches: [] });
  });

  const damages: [what: string, sql: string, wanted: string[][]][] = [
    [
      'a vendor that was changed past the trigger',
      `UPDATE materials SET vendor = 'Other' WHERE shop_id = :shopId AND id = 'VMAT-a'`,
      [['wrong-facet', 'VMAT-a', '"Other", virtual, unused', '"Acme", virtual, unused']],
    ],
    [
      'a vendor that is told from none',
      `UPDATE materials SET vendor = 'no vendor' WHERE shop_id = :shopId AND id = 'VMAT-c'`,
      [['wrong-facet', 'VMAT-c', '"no vendor", virtual, used', 'no vendor, virtual, used']],
    ],
    [
      'a bill that went away past the trigger',
      'DELETE FROM bill_components WHERE shop_id = :shopId',
      [['wrong-facet', 'VMAT-c', 'no vendor, virtual, unused', 'no vendor, virtual, used']],
    ],
    [
      'stock that has another facet than its material',
      `UPDATE stock SET facet_id = facet_id + 4 WHERE shop_id = :shopId AND material_id = 'VMAT-b'`,
      [['wrong-facet', 'VMAT-b', '"Acme", virtual, unused', 'another in stock']],
    ],
    [
      'a material that has no stock',
      `DELETE FROM stock WHERE shop_id = :shopId AND material_id = 'VMAT-b'`,
      [['stock-missing', 'VMAT-b', 'stock', 'none']],
    ],
    [
      'materials that were counted twice',
      `INSERT INTO facet_counts (facet_id, materials)
       SELECT facet_id, count(*) FROM materials WHERE shop_id = :shopId AND vendor = 'Acme' GROUP BY facet_id`,
      [['wrong-count', '-', '2 ("Acme", virtual, unused)', '4']],
    ],
    [
      'materials that are not counted',
      `DELETE FROM facet_counts WHERE facet_id IN (
         SELECT facet_id FROM materials WHERE shop_id = :shopId AND vendor = 'Acme')`,
      [['wrong-count', '-', '2 ("Acme", virtual, unused)', '0']],
    ],
    [
      'a material that is gone and still counted',
      `DELETE FROM materials WHERE shop_id = :shopId AND id = 'VMAT-a'`,
      [['wrong-count', '-', '1 ("Acme", virtual, unused)', '2']],
    ],
  ];
  for (const [what, sql, wanted] of damages) {
    it(`finds ${what}, and only that`, async () => {
      await damage(sql);
      expect(await found({ shopId })).to.deep.equal(wanted);
      expect(await found({}), 'of all shops').to.deep.equal(wanted);
      expect((await checkLists(postgres.database, { shopId: otherShopId })).mismatchCount, 'of another shop').to.equal(
        0,
      );
    });
  }

  it('counts all that differs, and lists the first thousand', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `VMAT-m${index}`);
    await createMaterials(
      postgres.database,
      shopId,
      many.map((id) => ({ id, origin: 'virtual', productName: id })),
    );
    await damage(`UPDATE materials SET vendor = 'Other' WHERE shop_id = :shopId`);
    await damage('INSERT INTO facet_counts (facet_id, materials) SELECT id, 1 FROM facets WHERE shop_id = :shopId');
    const { mismatchCount, mismatches } = await checkLists(postgres.database, { shopId });
    const facets = new Set(mismatches.map(({ kind }) => kind));
    expect(facets, 'which are looked at first').to.deep.equal(new Set(['wrong-facet']));
    expect(mismatches).to.have.lengthOf(1_000);
    expect(mismatchCount).to.be.above(many.length + 3);
  });
});
