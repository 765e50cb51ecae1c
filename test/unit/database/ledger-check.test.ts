import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import type { LedgerCheckProgress } from '../../../shared/database/ledger-check.js';
import { addLocations } from '../../../shared/database/locations.js';
import { createShop } from '../../../shared/database/shops.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

const materials = ['VMAT-a', 'VMAT-b', 'VMAT-c'];
const locations = ['1', '2'];
/** Three bookings at each of two locations of three materials. */
const figures = { levels: 6, entries: 18, materials: 4 };

describe('the check of the ledger', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;
  let otherShopId: number;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4, pipeline: true });
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced' })).id;
    otherShopId = (await createShop(database, { name: 'two', plan: 'enhanced' })).id;
    await addLocations(
      database,
      shopId,
      locations.map((id) => ({ id, name: id })),
    );
    await createMaterials(
      database,
      shopId,
      materials.map((id) => ({ id, origin: 'virtual', productName: id })),
    );
    const mirrored = { id: '55', origin: 'platform', productName: 'm', mirroredQuantity: 4_000_000 } as const;
    await createMaterials(database, shopId, [mirrored]);
    for (const quantity of [5_000_000, 1_250_000, 3_000_000]) {
      const levels = locations.map((locationId) => ({ locationId, quantity }));
      const stocks = materials.map((materialId) => ({ materialId, levels }));
      await bookStock(database, shopId, stocks);
    }
  });

  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  it('finds nothing in what the apply step wrote, and says how much it looked at', async () => {
    const progress: LedgerCheckProgress[] = [];
    const parts: number[] = [];
    const onProgress = (now: LedgerCheckProgress, part: number) => {
      progress.push(now);
      parts.push(part);
    };
    const check = await checkLedger(database, { onProgress });
    expect(check).to.deep.equal({ ...figures, mismatchCount: 0, mismatches: [] });
    expect(progress.at(-1)).to.deep.equal({ ...figures, mismatchCount: 0 });
    // Six levels, then four totals, then the walk over the ledger, which is not counted.
    expect(parts).to.deep.equal([0.6, 1, 1]);
  });

  const of = `(SELECT id FROM levels WHERE material_id = 'VMAT-b' AND location_id = '1')`;
  const damages: [string, string, string[]][] = [
    [
      'a level that was changed past the ledger',
      `UPDATE levels SET quantity = quantity + 0.000001 WHERE id = ${of}`,
      ['level-not-sum VMAT-b 1 3.000000 3.000001', 'total-not-sum VMAT-b - 6.000001 6.000000'],
    ],
    [
      'a total that was changed',
      `UPDATE stock SET total_quantity = 0 WHERE material_id = 'VMAT-c'`,
      ['total-not-sum VMAT-c - 6.000000 0.000000'],
    ],
    [
      'an entry that was deleted in the middle',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 2`,
      ['level-not-sum VMAT-b 1 6.750000 3.000000', 'sequence-gap VMAT-b 1 2 3', 'broken-chain VMAT-b 1 0 1'],
    ],
    [
      'a last entry that was deleted',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 3`,
      ['level-not-sum VMAT-b 1 1.250000 3.000000', 'last-sequence VMAT-b 1 2 3'],
    ],
    [
      'a first entry that was deleted',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 1`,
      ['level-not-sum VMAT-b 1 -2.000000 3.000000', 'sequence-gap VMAT-b 1 2 3', 'broken-chain VMAT-b 1 0 1'],
    ],
    [
      'every entry of a level deleted',
      `DELETE FROM ledger WHERE level_id = ${of}`,
      ['level-not-sum VMAT-b 1 0.000000 3.000000', 'last-sequence VMAT-b 1 0 3'],
    ],
    [
      'an entry that does not start from what the one before left, though the sum is right',
      `UPDATE ledger SET previous = previous + 1, level_after = level_after + 1 WHERE level_id = ${of} AND sequence = 2`,
      ['broken-chain VMAT-b 1 0 2'],
    ],
    [
      'a sequence that jumps',
      `UPDATE ledger SET sequence = 9 WHERE level_id = ${of} AND sequence = 3`,
      ['sequence-gap VMAT-b 1 3 9', 'last-sequence VMAT-b 1 9 3'],
    ],
    [
      'entries of a level that is gone',
      `DELETE FROM levels WHERE id = ${of}`,
      ['total-not-sum VMAT-b - 3.000000 6.000000', 'level-missing - - a level none'],
    ],
    [
      'stock of a material that is gone',
      `DELETE FROM materials WHERE id = 'VMAT-b'`,
      ['material-missing VMAT-b - a material none'],
    ],
  ];
  for (const [name, damage, wanted] of damages) {
    it(`finds ${name}, and only that`, async () => {
      // Past the foreign keys, as no statement of ours does.
      await database.transaction(async (transaction) => {
        await transaction.raw('SET LOCAL session_replication_role = replica');
        await transaction.raw(damage);
      });
      const { mismatchCount, mismatches } = await checkLedger(database, { shopId });
      const found = mismatches.map(({ kind, materialId, locationId, expected, found }) =>
        [kind, materialId ?? '-', locationId ?? '-', expected, found].join(' '),
      );
      expect(found).to.deep.equal(wanted);
      expect(mismatchCount).to.equal(wanted.length);
    });
  }

  it('of one shop looks at no other', async () => {
    await database.raw('UPDATE levels SET quantity = 0');
    const nothing = { levels: 0, entries: 0, materials: 0, mismatchCount: 0, mismatches: [] };
    expect(await checkLedger(database, { shopId: otherShopId })).to.deep.equal(nothing);
    expect((await checkLedger(database)).mismatchCount).to.equal(9);
  });

  it('finds entries of a shop whose level is of another, with either', async () => {
    await database.raw(`UPDATE ledger SET shop_id = ? WHERE level_id = ${of}`, [otherShopId]);
    const kinds = async (id: number) =>
      (await checkLedger(database, { shopId: id })).mismatches.map(({ kind }) => kind);
    expect(await kinds(otherShopId)).to.deep.equal(['level-missing']);
    expect(await kinds(shopId)).to.deep.equal(['level-not-sum', 'last-sequence']);
  });

  it('goes over batch borders without leaving out or counting twice', async () => {
    const many = Array.from({ length: 1_100 }, (_, index) => `VMAT-m${index}`);
    for (const part of [many.slice(0, 600), many.slice(600)]) {
      await createMaterials(
        database,
        shopId,
        part.map((id) => ({ id, origin: 'virtual', productName: id })),
      );
    }
    const levels = [{ locationId: '1', quantity: 1_000_000 }];
    await bookStock(
      database,
      shopId,
      many.map((materialId) => ({ materialId, levels })),
    );
    const check = await checkLedger(database, { shopId });
    expect(check).to.deep.include({ levels: 1_106, entries: 1_118, materials: 1_104, mismatchCount: 0 });
    await database.raw(`UPDATE levels SET quantity = 7 WHERE material_id LIKE 'VMAT-m%'`);
    const damaged = await checkLedger(database, { shopId });
    expect(damaged.mismatchCount).to.equal(2_200);
    expect(damaged.mismatches).to.have.lengthOf(1_000);
  });
});
