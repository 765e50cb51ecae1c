import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { checkSchema } from '../../../shared/standalone/given-postgres.js';
import { addOne, totalOf } from '../../support/shop/change.js';
import { connectForTest } from '../../support/database/database.js';
import { request } from '../../support/http/http.js';
import { runMigrate } from '../../support/processes/run-migrate.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import { createTestShop } from '../../support/shop/shop.js';

/**
 * A rolling update brings the schema first, then the processes: expand. These tests do by hand what the migration of a
 * later version does that only adds; next to it, the code here is the older version.
 */
describe('a schema that is newer than the version that runs', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 1 });
  });
  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  const expand = () =>
    database.raw(`
      ALTER TABLE shops ADD COLUMN region text NOT NULL DEFAULT 'eu';
      ALTER TABLE materials ADD COLUMN colour text;
      ALTER TABLE levels ADD COLUMN reserved numeric(38, 6) NOT NULL DEFAULT 0;
      ALTER TABLE stock ADD COLUMN reserved numeric(38, 6) NOT NULL DEFAULT 0;
      ALTER TABLE ledger ADD COLUMN source text;
      ALTER TABLE operations ADD COLUMN source text;
      CREATE TABLE reservations (id bigint PRIMARY KEY);
      INSERT INTO knex_migrations (name, batch, migration_time) VALUES ('9999-of-tomorrow', 99, now())`);
  /** As a version of another branch leaves it. */
  const replaceFirst = () =>
    database.raw("UPDATE knex_migrations SET name = '9998-of-a-branch' WHERE name = '0001-initial-schema'");
  const history = async () => (await database.raw<{ rows: object[] }>('SELECT * FROM knex_migrations')).rows;

  it('serves: processes of the older version start on what only adds, read and write', async () => {
    await expand();
    const service = await startService({ databaseUrl: testDatabase.url });
    try {
      const shop = await createTestShop(database);
      const [baseUrl = ''] = service.baseUrls;
      const path = `/v1/raw-materials/${shop.materialIds[0] ?? ''}`;
      expect((await addOne(baseUrl, shop)).status).to.equal(200);
      const renamed = await request(baseUrl, {
        method: 'PATCH',
        path,
        key: shop.writeKey,
        body: { productName: 'Renamed' },
      });
      expect(renamed.status, renamed.text).to.equal(200);
      for (const read of [path, `${path}/inventory`, `${path}/inventory/history`, '/v1/raw-materials']) {
        expect((await request(baseUrl, { path: read, key: shop.readKey })).status, read).to.equal(200);
      }
      expect(await totalOf(database, shop)).to.equal(1);
    } finally {
      await service.stop();
    }
  });

  it('serves processes that were there before it: none has to be stopped for it', async () => {
    const service = await startService({ databaseUrl: testDatabase.url });
    try {
      const shop = await createTestShop(database);
      const [baseUrl = ''] = service.baseUrls;
      // Statements of both processes are prepared and their plans kept by now.
      for (let turn = 0; turn < 10; turn += 1) expect((await addOne(baseUrl, shop)).status).to.equal(200);
      await request(baseUrl, { path: '/v1/raw-materials', key: shop.readKey });
      await expand();
      expect((await addOne(baseUrl, shop)).status).to.equal(200);
      expect((await request(baseUrl, { path: '/v1/raw-materials', key: shop.readKey })).status).to.equal(200);
      expect(await totalOf(database, shop)).to.equal(11);
    } finally {
      await service.stop();
    }
  });

  it('is left as it is by the older migrate, which says what is wrong, what to do, and ends with 65', async () => {
    await expand();
    const before = await history();
    const { code, stdout, stderr } = await runMigrate(testDatabase.url);
    expect({ code, stdout }).to.deep.equal({ code: 65, stdout: '' });
    expect(stderr).to.match(
      /^This version is older than the schema of the database, which has 9999-of-tomorrow\. Noth/,
    );
    expect(stderr)
      .to.match(/start its processes without migrating/)
      .and.not.contain('corrupt');
    expect(await history()).to.deep.equal(before);
  });

  it('is left as it is also where a migration of the older version is missing', async () => {
    await replaceFirst();
    const before = await history();
    const { code, stderr } = await runMigrate(testDatabase.url);
    expect(code).to.equal(65);
    expect(stderr)
      .to.match(
        /Nor does the database have 0001-initial-schema, without which processes .* write nothing\. Run migrate/,
      )
      .and.not.contain('without migrating');
    expect(await history()).to.deep.equal(before);
  });

  it('is no fault to doctor, which says what the older version may do with it', async () => {
    await expand();
    const found = await checkSchema(testDatabase.url, { isForStart: false });
    expect(found).to.have.property('verdict', 'note');
    expect(found.text).to.contain('9999-of-tomorrow').and.to.contain('start its processes without migrating');
  });

  it('hides from doctor neither a table that a crash empties nor a migration without which nothing is written', async () => {
    await expand();
    await database.raw('ALTER TABLE ledger SET UNLOGGED');
    const unlogged = await checkSchema(testDatabase.url, { isForStart: false });
    expect(unlogged).to.have.property('verdict', 'bad');
    expect(unlogged.text).to.contain('a crash of Postgres empties ledger');
    await replaceFirst();
    const missing = await checkSchema(testDatabase.url, { isForStart: false });
    expect(missing).to.have.property('verdict', 'bad');
    expect(missing.text).to.contain('Nor does the database have 0001-initial-schema');
  });
});

describe('a schema that search_path would put new tables beside', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 1 });
    // The default search_path begins with the schema of the role's own name.
    await database.raw('CREATE SCHEMA AUTHORIZATION CURRENT_USER');
  });
  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  const tables = async () =>
    (await database.raw<{ rows: object[] }>("SELECT relnamespace, relname FROM pg_class WHERE relname = 'shops'")).rows;

  it('is left as it is where nothing is missing, and not made a second time', async () => {
    const { code, stdout } = await runMigrate(testDatabase.url);
    expect({ code, stdout }).to.deep.equal({ code: 0, stdout: 'The schema is up to date.\n' });
    expect(await tables()).to.have.length(1);
  });

  it('is left as it is where something is, and what to mend is said', async () => {
    await database.raw('DELETE FROM public.knex_migrations WHERE id = (SELECT max(id) FROM public.knex_migrations)');
    const { code, stdout, stderr } = await runMigrate(testDatabase.url);
    expect({ code, stdout }).to.deep.equal({ code: 65, stdout: '' });
    expect(stderr).to.match(
      /^The tables are in the schema public, and new ones would come into \w+\. Nothing was changed\./,
    );
    expect(await tables()).to.have.length(1);
  });
});
