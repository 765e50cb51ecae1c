import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { ours, readTableFaults } from '../../../shared/database/table-faults.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';

describe('the faults of the tables', () => {
  let databaseOf: Awaited<ReturnType<typeof createTestDatabase>>;
  let owner: Database;
  let database: Database;
  let role: string;
  beforeEach(async () => {
    databaseOf = await createTestDatabase();
    role = `role_of_${new URL(databaseOf.url).pathname.slice(1)}`;
    owner = connectForTest(databaseOf.url, { poolMax: 1 });
    await owner.raw(`CREATE ROLE ?? LOGIN PASSWORD 'secret'`, [role]);
    await owner.raw('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ??', [role]);
    await owner.raw('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ??', [role]);
    const url = Object.assign(new URL(databaseOf.url), { username: role, password: 'secret' }).href;
    database = connectForTest(url, { poolMax: 1 });
  });
  afterEach(async () => {
    await database.destroy();
    await owner.raw('DROP OWNED BY ??', [role]);
    await owner.raw('DROP ROLE ??', [role]);
    await owner.destroy();
    await databaseOf.drop();
  });

  it('are none where all is as it should be', async () => {
    expect(await readTableFaults(database)).to.deep.equal({ refused: [], unlogged: [] });
  });

  it('are looked for in all that the migrations make', async () => {
    const { rows } = await owner.raw<{ rows: { name: string }[] }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')
         AND relname NOT LIKE 'knex%' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i')`,
    );
    expect(rows.map(({ name }) => name)).to.have.members(ours);
  });

  it('are the rights that the role lacks, of tables and sequences', async () => {
    await owner.raw('REVOKE UPDATE ON stock FROM ??', [role]);
    await owner.raw('REVOKE DELETE ON operations FROM ??', [role]);
    await owner.raw('REVOKE USAGE ON levels_id_seq FROM ??', [role]);
    expect(await readTableFaults(database)).to.deep.equal({
      refused: ['levels_id_seq', 'operations', 'stock'],
      unlogged: [],
    });
  });

  it('are the tables that a crash of Postgres empties', async () => {
    await owner.raw('ALTER TABLE ledger SET UNLOGGED');
    expect(await readTableFaults(database)).to.deep.equal({ refused: [], unlogged: ['ledger'] });
  });
});
