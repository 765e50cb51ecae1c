import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { isServerTimeout } from '../../../shared/database/errors.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import { createCli } from './run-manage.js';

const handbook = readFileSync(new URL('../../../shared/manage/README.md', import.meta.url), 'utf8');
const [section = ''] = handbook.split('## Mending what verify finds').slice(1);
/** What the handbook has an operator run: by the ledger, of what lists go by, and of levels written past the ledger. */
const [byLedger = '', ofLists = '', ofWritten = ''] = [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(
  ([, sql = '']) => sql,
);

const material = 'VMAT-b';

describe('what verify tells an operator to do', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shopId: number;
  let locationIds: string[];
  beforeEach(async () => {
    const { database } = postgres;
    ({ shopId, locationIds } = await createTestShop(database, { materials: 0, locations: 2 }));
    const vendors = { 'VMAT-a': 'Acme', [material]: 'Acme', 'VMAT-c': 'Zeta' };
    const materials = Object.entries(vendors).map(([id, vendor]) => {
      return { id, vendor, origin: 'virtual' as const, productName: id };
    });
    await createMaterials(database, shopId, materials);
    for (const quantity of [5_000_000, 1_250_000, 3_000_000]) {
      const levels = locationIds.map((locationId) => ({ locationId, quantity }));
      await bookStock(
        database,
        shopId,
        materials.map(({ id }) => ({ materialId: id, levels })),
      );
    }
    const components = [{ materialId: 'VMAT-c', quantity: 1_000_000 }];
    await createBill(database, shopId, { id: 'b', kind: 'bill_of_materials', name: 'b', components });
  });

  afterEach(() => postgres.database.raw('DROP TABLE IF EXISTS back_up'));

  const verify = async () => {
    const cli = createCli({ DATABASE_URL: postgres.url });
    const { code, stdout } = await cli.run(['verify', '--shop', String(shopId)]);
    return { code, text: stdout };
  };
  /** As psql does with `-v shop=… -v material=…`. */
  const run = async (sql: string, beforeCommit = () => Promise.resolve()) => {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    const given = sql.replaceAll(":'material'", `'${material}'`).replaceAll(':shop', String(shopId));
    const [statements = '', commit = ''] = given.split(/^(?=COMMIT;$)/m);
    try {
      await client.query(statements);
      await beforeCommit();
      await client.query(commit);
    } finally {
      await client.end();
    }
  };
  /** Past what keeps it, as no statement of ours does. @param sql `of` is the first level of the material */
  const damage = (sql: string) =>
    postgres.database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      const of = `(SELECT id FROM levels WHERE shop_id = :shopId AND material_id = '${material}' AND location_id = :locationId)`;
      await transaction.raw(sql.replaceAll('$of', of), { shopId, locationId: locationIds[0] ?? '' });
    });
  const figures = async () => {
    const { rows } = await postgres.database.raw<{ rows: object[] }>(
      `SELECT l.quantity, l.sequence, s.total_quantity FROM levels l JOIN stock s USING (shop_id, material_id)
       WHERE shop_id = ? AND material_id = ? ORDER BY location_id`,
      [shopId, material],
    );
    return rows;
  };
  const adjustAt = async (locationId: string, delta: number) => {
    const operation = operationOf({ kind: 'adjust', rows: [{ locationId, delta }] });
    const group = { shopId, materialId: material, operations: [operation] };
    await applyOperations(postgres.database, [group], { nowMs: Date.now });
  };
  /** Of the first entries of each level; a row that is written has another. */
  const versionsOf = async (entries: number) => {
    const { rows } = await postgres.database.raw<{ rows: object[] }>(
      `SELECT CAST(g.xmin AS text), g.sequence FROM ledger g JOIN levels l ON l.id = g.level_id
       WHERE l.shop_id = ? AND l.material_id = ? AND g.sequence <= ? ORDER BY l.location_id, g.sequence`,
      [shopId, material, entries],
    );
    return rows;
  };
  const whole = { quantity: '3.000000', sequence: '3', total_quantity: '6.000000' };

  const ofLedger: [what: string, sql: string][] = [
    ['a level that was changed', 'UPDATE levels SET quantity = 4 WHERE id = $of'],
    ['a level that is older than its ledger', 'UPDATE levels SET quantity = 1.25, sequence = 2 WHERE id = $of'],
    [
      'a total that was changed',
      `UPDATE stock SET total_quantity = 7 WHERE shop_id = :shopId AND material_id = '${material}'`,
    ],
    ['stock that is missing', `DELETE FROM stock WHERE shop_id = :shopId AND material_id = '${material}'`],
  ];
  for (const [what, sql] of ofLedger) {
    it(`mends ${what}, by its ledger`, async () => {
      await damage(sql);
      const { code, text } = await verify();
      expect(code).to.equal(1);
      expect(text).to.contain('The first statements there').and.not.contain('second statements');
      await run(byLedger);
      expect(await verify()).to.include({ code: 0 });
      expect(await figures()).to.deep.equal([whole, whole]);
    });
  }

  const ofTheLedgerItself: [what: string, sql: string, says?: string][] = [
    ['an entry in the middle is missing', 'DELETE FROM ledger WHERE level_id = $of AND sequence = 2'],
    ['the last entry is missing', 'DELETE FROM ledger WHERE level_id = $of AND sequence = 3'],
    ['every entry is missing', 'DELETE FROM ledger WHERE level_id = $of'],
    [
      'an entry was changed',
      'UPDATE ledger SET previous = previous + 1, level_after = level_after + 1 WHERE level_id = $of AND sequence = 2',
      'only if entries themselves were changed: those have to come from it',
    ],
  ];
  for (const [what, sql, says = 'they have to come from a back-up'] of ofTheLedgerItself) {
    it(`leaves a level alone where ${what}, and mends it once that came from a back-up`, async () => {
      const { database } = postgres;
      await database.raw('CREATE TABLE back_up AS SELECT * FROM ledger');
      await damage(sql);
      await run(byLedger);
      expect(await figures()).to.deep.equal([whole, whole]);
      const { code, text } = await verify();
      expect(code).to.equal(1);
      expect(text).to.contain(says);
      await damage('DELETE FROM ledger WHERE level_id = $of');
      await damage('INSERT INTO ledger SELECT * FROM back_up WHERE level_id = $of');
      await run(byLedger);
      expect(await verify()).to.include({ code: 0 });
      expect(await figures()).to.deep.equal([whole, whole]);
    });
  }

  it('books what was written to a level by plain SQL, once adjustments went on from it', async () => {
    const [locationId = ''] = locationIds;
    const adjust = (delta: number) => adjustAt(locationId, delta);
    await damage('UPDATE levels SET quantity = quantity + 7 WHERE id = $of');
    await adjust(1_000_000);
    await adjust(1_000_000);
    await damage('UPDATE levels SET quantity = quantity - 2 WHERE id = $of');
    await adjust(500_000);
    expect((await verify()).text)
      .to.contain('The third statements there')
      .and.not.contain('come from a back-up');

    await run(ofWritten);
    await run(byLedger);
    expect(await verify()).to.include({ code: 0 });
    const booked = { quantity: '10.500000', sequence: '8', total_quantity: '13.500000' };
    expect(await figures()).to.deep.equal([booked, { ...whole, total_quantity: '13.500000' }]);
    const { rows: entries } = await postgres.database.raw<{ rows: { applied: string; channel: string }[] }>(
      `SELECT g.applied, g.channel FROM ledger g JOIN levels l ON l.id = g.level_id
       WHERE l.shop_id = ? AND l.material_id = ? AND l.location_id = ? AND g.sequence > 3 ORDER BY g.sequence`,
      [shopId, material, locationId],
    );
    const told = entries.map(({ applied, channel }) => `${channel} ${Number(applied)}`);
    expect(told).to.deep.equal(['cli 7', 'rest 1', 'rest 1', 'cli -2', 'rest 0.5']);
    await adjust(1_000_000);
    expect(await verify()).to.include({ code: 0 });
  });

  it('books also what was taken back, or written last, and leaves what is whole before the first write', async () => {
    for (const taken of [7, 2]) {
      for (const locationId of locationIds) {
        const ofLocation = `WHERE shop_id = :shopId AND material_id = '${material}' AND location_id = '${locationId}'`;
        await damage(`UPDATE levels SET quantity = quantity + 7 ${ofLocation}`);
        await adjustAt(locationId, 1_000_000);
        await damage(`UPDATE levels SET quantity = quantity - ${taken} ${ofLocation}`);
      }
      const before = await figures();
      const untouched = await versionsOf(3);
      expect((await verify()).text).to.contain('The third statements there');
      await run(ofWritten);
      await run(byLedger);
      expect(await verify()).to.include({ code: 0 });
      const quantities = (all: object[]) => all.map((one) => (one as { quantity: string }).quantity);
      expect(quantities(await figures())).to.deep.equal(quantities(before));
      expect(await versionsOf(3)).to.deep.equal(untouched);
    }
  });

  it('books nothing to a level of which entries are missing', async () => {
    await damage('DELETE FROM ledger WHERE level_id = $of AND sequence = 2');
    const before = await verify();
    await run(ofWritten);
    expect(await verify()).to.deep.equal(before);
    expect(await figures()).to.deep.equal([whole, whole]);
  });

  it('has a material that is gone, and its stock not, come from a back-up', async () => {
    await postgres.database.raw('CREATE TABLE back_up AS SELECT * FROM materials WHERE shop_id = ?', [shopId]);
    await damage(`DELETE FROM materials WHERE shop_id = :shopId AND id = '${material}'`);
    const { code, text } = await verify();
    expect(code).to.equal(1);
    expect(text).to.contain('there is stock of a material that does not exist');
    expect(text).to.contain('they have to come from a back-up');
    const columns = await postgres.database.raw<{ rows: { names: string }[] }>(
      `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
       WHERE table_name = 'materials' AND is_generated = 'NEVER'`,
    );
    const names = columns.rows[0]?.names ?? '';
    await damage(`INSERT INTO materials (${names}) SELECT ${names} FROM back_up WHERE id = '${material}'`);
    await run(byLedger);
    await run(ofLists);
    expect(await verify()).to.include({ code: 0 });
    expect(await figures()).to.deep.equal([whole, whole]);
  });

  it('mends the total once a level that is gone came from a back-up, however old', async () => {
    await postgres.database.raw('CREATE TABLE back_up AS SELECT * FROM levels WHERE shop_id = ?', [shopId]);
    await postgres.database.raw('UPDATE back_up SET quantity = 1.25, sequence = 2');
    await damage('DELETE FROM levels WHERE id = $of');
    expect((await verify()).text)
      .to.contain('they have to come from a back-up')
      .and.contain('The first statements there');
    await damage(
      `INSERT INTO levels SELECT * FROM back_up WHERE material_id = '${material}' AND location_id = :locationId`,
    );
    await run(byLedger);
    expect(await verify()).to.include({ code: 0 });
    expect(await figures()).to.deep.equal([whole, whole]);
  });

  it('holds up adjustments of the materials whose stock is set anew, until the COMMIT, and no others', async () => {
    await damage(`UPDATE stock SET facet_id = facet_id + 4 WHERE shop_id = :shopId AND material_id = '${material}'`);
    await run(ofLists, async () => {
      const rows = [{ locationId: locationIds[0] ?? '', delta: 1_000_000 }];
      const groups = ['VMAT-a', material, 'VMAT-c'].map((materialId) => {
        return { shopId, materialId, operations: [operationOf({ kind: 'adjust', rows })] };
      });
      const { outcomes, leftOut } = await applyOperations(postgres.database, groups, { nowMs: Date.now });
      expect(leftOut.map(({ materialId }) => materialId)).to.deep.equal([material]);
      expect([...outcomes.values()].map(({ status }) => status)).to.deep.equal(['executed', 'executed']);
    });
    const levels = locationIds.map((locationId) => ({ locationId, quantity: 3_000_000 }));
    await bookStock(postgres.database, shopId, [{ materialId: material, levels }]);
    expect(await verify()).to.include({ code: 0 });
  });

  it('holds up changes of fields of every shop until its COMMIT', async () => {
    await run(ofLists, async () => {
      const isHeld = await postgres.database
        .transaction((transaction) => transaction.raw('LOCK TABLE materials IN ROW EXCLUSIVE MODE NOWAIT'))
        .then(() => false, isServerTimeout);
      expect(isHeld).to.equal(true);
    });
  });

  const ofWhatListsGoBy: [what: string, sql: string][] = [
    ['a vendor that was changed', `UPDATE materials SET vendor = 'New' WHERE shop_id = :shopId AND id = '${material}'`],
    ['a bill that is gone', 'DELETE FROM bill_components WHERE shop_id = :shopId'],
    ['stock of another facet', `UPDATE stock SET facet_id = facet_id + 4 WHERE shop_id = :shopId`],
    ['a facet that is not there', `UPDATE materials SET facet_id = 2000000000 WHERE shop_id = :shopId`],
    [
      'a material that is gone, with its stock',
      `WITH stock_of_it AS (DELETE FROM stock WHERE shop_id = :shopId AND material_id = 'VMAT-x')
       DELETE FROM materials WHERE shop_id = :shopId AND id = 'VMAT-x'`,
    ],
    [
      'what was counted twice',
      'INSERT INTO facet_counts (facet_id, materials) SELECT id, 7 FROM facets WHERE shop_id = :shopId',
    ],
    ['what was not counted', 'DELETE FROM facet_counts'],
  ];
  for (const [what, sql] of ofWhatListsGoBy) {
    it(`mends ${what}, by the materials`, async () => {
      const gone = { id: 'VMAT-x', origin: 'virtual', productName: 'x', vendor: 'Gone' } as const;
      await createMaterials(postgres.database, shopId, [gone]);
      await damage(sql);
      const { code, text } = await verify();
      expect(code).to.equal(1);
      expect(text).to.contain('the second statements there set it anew').and.not.contain('first statements');
      await run(ofLists);
      expect(await verify()).to.include({ code: 0 });
      // What it switches off meanwhile is on again.
      await postgres.database.raw(`UPDATE materials SET vendor = 'Later' WHERE shop_id = ?`, [shopId]);
      expect(await verify()).to.include({ code: 0 });
    });
  }
});
