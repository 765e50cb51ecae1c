import { expect } from 'chai';
import { openManagedShop } from './run-manage.js';

/** What verify reads. */
const tables = ['levels', 'ledger', 'stock', 'materials', 'facets'];

describe('npm run manage -- verify, on a server that', () => {
  it('ends statements that are long, ends as on any other, however long its own are', async () => {
    const { database, cli, shopId, close } = await openManagedShop();
    const create = ['materials', 'create', '--shop', shopId, '--product-name', 'Wax', '--level', '70001=1'];
    await cli.answer(create);
    await database.raw(`DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''1min''', current_database()); END $$`);
    // Stands for tables so large that every statement on them takes longer than the server allows.
    await database.raw(`CREATE FUNCTION last_for_test() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('statement_timeout') <> '0' THEN
        RAISE query_canceled USING MESSAGE = 'canceling statement due to statement timeout';
      END IF;
      RETURN true; END $$`);
    for (const table of tables) {
      await database.raw(`ALTER TABLE ${table} RENAME TO ${table}_for_test`);
      await database.raw(`CREATE VIEW ${table} AS SELECT * FROM ${table}_for_test WHERE last_for_test()`);
    }
    const { code, stdout, stderr } = await cli.run(['verify']);
    await close();
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^1 level, 1 ledger entry and 1 total checked, .* All agree\.\n$/);
  });
});
