import { expect } from 'chai';
import { useDatabase } from '../../support/database/database.js';
import { runMigrate } from '../../support/processes/run-migrate.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('a database that is upgraded to what the planner expects of a shop (migrations 0012 and 0015)', () => {
  const own = useDatabase();

  it('has it in its statistics at once, where it has statistics, and also where it is upgraded once more', async () => {
    const { database, url } = own;
    for (const _ of [1, 2, 3]) await createTestShop(database, { materials: 20 });
    for (const table of ['materials', 'stock', 'bills', 'bill_components']) {
      await database.raw('ALTER TABLE ?? ALTER COLUMN shop_id RESET (n_distinct)', [table]);
    }
    await database.raw('ANALYZE materials, stock');
    const expected = async () => {
      const { rows } = await database.raw<{ rows: { tablename: string; n_distinct: number }[] }>(
        `SELECT tablename, n_distinct FROM pg_stats WHERE attname = 'shop_id'
         AND tablename IN ('materials', 'stock', 'bills', 'bill_components') ORDER BY tablename`,
      );
      return rows.map(({ tablename, n_distinct: count }) => [tablename, count]);
    };
    expect(await expected()).to.deep.equal([
      ['materials', 3],
      ['stock', 3],
    ]);
    for (const _ of [1, 2]) {
      await database.raw(`DELETE FROM knex_migrations WHERE name LIKE '%-any-shop-may-be-large%'`);
      expect(await runMigrate(url)).to.include({ code: 0 });
      expect(await expected()).to.deep.equal([
        ['materials', 2],
        ['stock', 2],
      ]);
    }
  });
});
