import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { addLocations } from '../../../shared/database/locations.js';
import { checkRecentLedger, recheckLedger } from '../../../shared/database/recent-ledger-check.js';
import { createShop } from '../../../shared/database/shops.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { connectForTest } from '../../support/database/database.js';
import { planOf, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

const materials = ['VMAT-a', 'VMAT-b', 'VMAT-c'];
const locations = ['1', '2'];
const bounds = { levelsMax: 50, entriesPerLevelMax: 100 };

describe('the check of recent changes', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { pipeline: true });
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced' })).id;
    const named = locations.map((id) => ({ id, name: id }));
    await addLocations(database, shopId, named);
    const virtual = materials.map((id) => ({ id, origin: 'virtual' as const, productName: id }));
    const mirrored = { id: '55', origin: 'platform', productName: 'm', mirroredQuantity: 4_000_000 } as const;
    await createMaterials(database, shopId, [...virtual, mirrored]);
    for (const quantity of [5_000_000, 1_250_000, 3_000_000]) await book(quantity);
  });

  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  async function book(quantity: number): Promise<void> {
    const levels = locations.map((locationId) => ({ locationId, quantity }));
    const stocks = materials.map((materialId) => ({ materialId, levels }));
    await bookStock(database, shopId, stocks);
  }

  const check = (ids: string[], asked = bounds) =>
    checkRecentLedger(
      database,
      ids.map((materialId) => ({ shopId, materialId })),
      asked,
    );
  const found = async (ids: string[], asked = bounds) =>
    (await check(ids, asked)).mismatches.map(({ kind, materialId, locationId, expected, found: is }) =>
      [kind, materialId ?? '-', locationId ?? '-', expected, is].join(' '),
    );

  it('finds nothing in what the apply step wrote, whether it sees the whole ledger or its end', async () => {
    const all = { materials: 4, levels: 6, mismatches: [] };
    expect(await check([...materials, '55'])).to.deep.equal({ ...all, entries: 18, rowsRead: 34 });
    expect(await check([...materials, '55'], { ...bounds, entriesPerLevelMax: 2 })).to.deep.equal({
      ...all,
      ...{ entries: 12, rowsRead: 28 },
    });
    const nothing = { levels: 0, entries: 0, mismatches: [] };
    expect(await check(['VMAT-there-is-none'])).to.deep.equal({ ...nothing, materials: 1, rowsRead: 1 });
  });

  it('says how many rows it reads, of a material with many levels those that it does not look at as well', async () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ id: `many-${index}`, name: 'One of many' }));
    await addLocations(database, shopId, many);
    const levels = many.map(({ id }) => ({ locationId: id, quantity: 1_000_000 }));
    await bookStock(database, shopId, [{ materialId: 'VMAT-c', levels }]);
    const {
      materials: looked,
      levels: found,
      entries,
      rowsRead,
    } = await check(['VMAT-c'], { ...bounds, levelsMax: 3 });
    expect({ looked, found, entries }).to.deep.equal({ looked: 1, found: 3, entries: 3 });
    // To find those that changed last, and for the sum.
    expect(rowsRead).to.equal(1 + 2 * (500 + locations.length) + 3);
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
      `UPDATE stock SET total_quantity = 0 WHERE material_id = 'VMAT-b'`,
      ['total-not-sum VMAT-b - 6.000000 0.000000'],
    ],
    [
      'an entry that was deleted in the middle',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 2`,
      ['sequence-gap VMAT-b 1 2 3', 'broken-chain VMAT-b 1 0 1'],
    ],
    [
      'a last entry that was deleted',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 3`,
      ['level-not-sum VMAT-b 1 1.250000 3.000000', 'last-sequence VMAT-b 1 2 3'],
    ],
    [
      'a first entry that was deleted',
      `DELETE FROM ledger WHERE level_id = ${of} AND sequence = 1`,
      ['sequence-gap VMAT-b 1 2 3'],
    ],
    [
      'every entry of a level deleted',
      `DELETE FROM ledger WHERE level_id = ${of}`,
      ['level-not-sum VMAT-b 1 0.000000 3.000000', 'last-sequence VMAT-b 1 0 3'],
    ],
    [
      'a first entry that does not start from nothing',
      `UPDATE ledger SET previous = 1, level_after = applied + 1 WHERE level_id = ${of} AND sequence = 1`,
      ['broken-chain VMAT-b 1 0 2'],
    ],
    [
      'a sequence that jumps',
      `UPDATE ledger SET sequence = 9 WHERE level_id = ${of} AND sequence = 3`,
      ['sequence-gap VMAT-b 1 3 9', 'last-sequence VMAT-b 1 9 3'],
    ],
  ];
  for (const [name, damage, wanted] of damages) {
    it(`finds ${name}, and in no other material`, async () => {
      await database.raw(damage);
      expect(await found(materials)).to.deep.equal(wanted);
      expect(await found(['VMAT-a', 'VMAT-c'])).to.deep.equal([]);
    });
  }

  for (const [name, damage, wanted] of damages) {
    it(`finds again ${name}, by itself, and not once it was mended`, async () => {
      const before = await database.select('*').from('ledger').orderBy('sequence');
      const rows = { levels: await database('levels').select('*'), stock: await database('stock').select('*') };
      await database.raw(damage);
      const { mismatches } = await check(materials);
      const again = await recheckLedger(database, mismatches, bounds);
      expect(new Set(again.mismatches.map(({ kind }) => kind))).to.deep.equal(
        new Set(wanted.map((line) => line.split(' ')[0])),
      );
      await database('ledger').delete();
      await database('ledger').insert(before);
      for (const { id, quantity, sequence } of rows.levels as { id: string; quantity: string; sequence: string }[])
        await database('levels').where({ id }).update({ quantity, sequence });
      for (const { material_id, total_quantity } of rows.stock as { material_id: string; total_quantity: string }[])
        await database('stock').where({ material_id }).update({ total_quantity });
      expect((await recheckLedger(database, mismatches, bounds)).mismatches).to.deep.equal([]);
    });
  }

  it('finds a break again behind as many later entries as there may be, and reads no more than around it', async () => {
    const few = { levelsMax: 50, entriesPerLevelMax: 2 };
    await database.raw(`UPDATE levels SET quantity = quantity + 1 WHERE id = ${of}`);
    const { mismatches } = await check(['VMAT-b'], few);
    expect(mismatches.map(({ kind, atSequence }) => [kind, atSequence])).to.deep.equal([
      ['level-not-sum', '3'],
      ['total-not-sum', null],
    ]);
    const ofLevel = mismatches.slice(0, 1);
    for (let count = 1; count <= 9; count += 1) {
      await book(1_000_000 * count);
      const again = await recheckLedger(database, ofLevel, few);
      expect(again.mismatches.map(({ kind, atSequence }) => [kind, atSequence])).to.deep.equal([['broken-chain', '3']]);
      expect(again.entries).to.be.at.most(4);
    }
    expect((await check(['VMAT-b'], few)).mismatches.map(({ kind }) => kind)).to.not.include('broken-chain');
    await database.raw(`DELETE FROM ledger WHERE level_id = ${of} AND sequence = 5`);
    const gap = await recheckLedger(database, ofLevel, few);
    expect(gap.mismatches.map(({ kind }) => kind)).to.have.members(['sequence-gap', 'broken-chain']);
    await database.raw(`DELETE FROM ledger WHERE level_id = ${of} AND sequence BETWEEN 2 AND 5`);
    const nothing = await recheckLedger(database, ofLevel, few);
    expect(nothing.mismatches.map(({ kind }) => kind)).to.deep.equal(['sequence-gap']);
  });

  it('looks at the materials of the shop that it is asked for', async () => {
    await database.raw('UPDATE levels SET quantity = 0');
    const elsewhere = { shopId: shopId + 1, materialId: 'VMAT-b' };
    expect((await checkRecentLedger(database, [elsewhere], bounds)).mismatches).to.deep.equal([]);
  });

  it('reads no more levels and entries than it may: those that changed last', async () => {
    await database.raw(`UPDATE levels SET updated_at = now() + interval '1 s' WHERE location_id = '2'`);
    const { levels, entries } = await check(materials, { levelsMax: 3, entriesPerLevelMax: 2 });
    expect({ levels, entries }).to.deep.equal({ levels: 3, entries: 6 });
    await database.raw(`UPDATE levels SET sequence = 4`);
    const bounded = await found(materials, { levelsMax: 3, entriesPerLevelMax: 2 });
    expect(bounded).to.have.members(materials.map((id) => `last-sequence ${id} 2 3 4`));
  });

  it('takes an end that is not where the level says it is for missing', async () => {
    await database.raw(`UPDATE levels SET sequence = 7 WHERE id = ${of}`);
    expect(await found(['VMAT-b'], { ...bounds, entriesPerLevelMax: 2 })).to.deep.equal([
      'level-not-sum VMAT-b 1 0.000000 3.000000',
      'last-sequence VMAT-b 1 0 7',
    ]);
    await database.raw(`UPDATE levels SET sequence = 1 WHERE id = ${of}`);
    expect(await found(['VMAT-b'], { ...bounds, entriesPerLevelMax: 2 })).to.deep.equal(['last-sequence VMAT-b 1 3 1']);
  });

  it('reads the end alone of a long ledger that Postgres has no statistics of', async () => {
    await database.raw(`
      INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_delta, previous, applied, level_after,
                          clamped, at, channel)
      SELECT shop_id, id, number, gen_random_uuid(), 0, 1, number - 1, 1, number, false, now(), 'cli'
      FROM levels, generate_series(4, 200000) number WHERE id = ${of}`);
    await database.raw(`UPDATE levels SET sequence = 200000, quantity = 200000 WHERE id = ${of}`);
    const [levelsQuery] = await sentDuring(database, () => check(['VMAT-b']));
    const read = blocksOf('ledger', await planOf(database, levelsQuery!, { isRun: true }));
    // The whole ledger has thousands; an index of four levels and the pages of two hundred entries take a few.
    expect(read).to.be.greaterThan(0).and.lessThan(40);
    expect(await check(['VMAT-b'])).to.deep.include({ levels: 2, entries: 103 });
  });

  it('judges a ledger whose first entries it does not read by what it reads', async () => {
    await database.raw(`DELETE FROM ledger WHERE level_id = ${of} AND sequence = 1`);
    expect(await found(['VMAT-b'], { ...bounds, entriesPerLevelMax: 2 })).to.deep.equal([]);
    await database.raw(`UPDATE ledger SET previous = 0, applied = level_after WHERE level_id = ${of} AND sequence = 3`);
    const seen = await found(['VMAT-b'], { ...bounds, entriesPerLevelMax: 2 });
    expect(seen).to.deep.equal(['broken-chain VMAT-b 1 0 1']);
  });
});

/** Blocks that a plan's scans of a table have read, their indexes' included. */
function blocksOf(table: string, node: PlanNode): number {
  if (node['Relation Name'] === table) return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
  return (node.Plans ?? []).reduce((sum, child) => sum + blocksOf(table, child), 0);
}
