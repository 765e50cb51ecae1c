import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { connectForTest } from '../../support/database/database.js';
import { runMigrate } from '../../support/processes/run-migrate.js';
import { createEmptyDatabase, createTestDatabase, testPostgres } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

async function isWaiting(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'raw-materials-migrate' AND wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}

/** Sets these to a second, for new sessions. */
async function boundAll(database: Database, settings: string[]): Promise<void> {
  for (const setting of settings) {
    await database.raw(`DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET ${setting} = ''1s''', current_database()); END $$`);
  }
}

describe('npm run migrate', () => {
  it('ends with 0 on a database that is up to date, and says so', async () => {
    const database = await createTestDatabase();
    const { code, stdout } = await runMigrate(database.url);
    expect({ code, stdout }).to.deep.equal({ code: 0, stdout: 'The schema is up to date.\n' });
    await database.drop();
  });

  it('ends with 0 also where nobody reads what it says', async () => {
    const database = await createTestDatabase();
    const { code, stderr } = await runMigrate(database.url, false);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    await database.drop();
  });

  it('may run in several places at once on an empty database: one migrates, and all end with 0', async () => {
    const database = await createEmptyDatabase();
    const runs = await Promise.all(Array.from({ length: 4 }, () => runMigrate(database.url)));
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).to.deep.equal(runs.map(() => ({ code: 0, stderr: '' })));
    expect(runs.filter(({ stdout }) => stdout.startsWith('Migrated: 0001')).length).to.equal(1);
    await database.drop();
  });

  it('waits for another for as long as that takes, though the server lets nothing wait for a lock', async () => {
    const testDatabase = await createTestDatabase();
    const database = connectForTest(testDatabase.url, { poolMax: 2 });
    const running = await database.transaction(async (other) => {
      await other.raw('SELECT pg_advisory_xact_lock(7261977)');
      await boundAll(database, ['lock_timeout', 'statement_timeout', 'transaction_timeout']);
      const migrated = runMigrate(testDatabase.url);
      await until(() => isWaiting(database), { deadlineMs: 20_000, what: 'the migration to wait' });
      // Longer than any of them.
      await other.raw('SELECT pg_sleep(1.5)');
      return { migrated };
    });
    const { code, stdout, stderr } = await running.migrated;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.equal('Another process is migrating; waiting for it.\nThe schema is up to date.\n');
    await database.destroy();
    await testDatabase.drop();
  });

  it('tells of a locale by which texts are compared as bytes, while another can still be chosen', async () => {
    const empty = await createEmptyDatabase();
    const name = `${new URL(empty.url).pathname.slice(1)}_c`;
    const server = connectForTest(empty.url, { poolMax: 1 });
    await server.raw(`CREATE DATABASE ?? TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C'`, [name]);
    const [first, again] = [
      await runMigrate(empty.url.replace(/[^/]+$/, name)),
      await runMigrate(empty.url.replace(/[^/]+$/, name)),
    ];
    await server.raw('DROP DATABASE ??', [name]);
    await server.destroy();
    await empty.drop();
    expect([first.code, again.code]).to.deep.equal([0, 0]);
    expect(first.stdout).to.match(/\nTexts are searched and sorted wrongly here: see npm run doctor\.\n$/);
    expect(again.stdout).to.equal('The schema is up to date.\n');
  });

  it('waits for a table that is in use, as by pg_dump, and nobody waits behind it for as long', async () => {
    const testDatabase = await createTestDatabase();
    const database = connectForTest(testDatabase.url, { poolMax: 2 });
    // Both sessions of the test are opened first: what is set for new ones then bounds nothing that it asks itself.
    await database.transaction(() => database.raw('SELECT 1'));
    // It takes longer than the server lets anything last, as many a server has it.
    await boundAll(database, ['idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout']);
    // One that can be run again.
    await database.raw(`DELETE FROM knex_migrations WHERE name = '0007-cheaper-id-form'`);
    const read = (by: Database) => by.raw('SELECT 1 FROM materials');
    const startedMs = performance.now();
    const migrated = await database.transaction(async (dump) => {
      await read(dump);
      const running = runMigrate(testDatabase.url);
      await until(() => isWaiting(database), { deadlineMs: 20_000, what: 'the migration to wait' });
      // Behind the migration, which gives way after two seconds.
      await database.raw(`SET statement_timeout = '15s'`);
      await read(database);
      return { running };
    });
    const { code, stdout, stderr } = await migrated.running;
    // Two seconds of waiting, and three in which others come first.
    expect(performance.now() - startedMs).to.be.at.least(5_000);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^A table is in use.*\nMigrated: 0007-cheaper-id-form\.\n$/);
    await database.destroy();
    await testDatabase.drop();
  });

  it('waits likewise for a cycle that waits for it, which is a circle that Postgres breaks', async () => {
    const testDatabase = await createTestDatabase();
    const database = connectForTest(testDatabase.url, { poolMax: 2 });
    await database.raw(`DELETE FROM knex_migrations WHERE name = '0011-facets-beside-shops'`);
    await database.raw(
      'ALTER TABLE facets ADD CONSTRAINT facets_shop_fkey FOREIGN KEY (shop_id) REFERENCES shops (id)',
    );
    const migrated = await database.transaction(async (cycle) => {
      // So that it is the migration that finds the circle, and fails.
      await cycle.raw(`SET LOCAL deadlock_timeout = '1min'`);
      await cycle.raw('SELECT 1 FROM shops');
      const running = runMigrate(testDatabase.url);
      await until(() => isWaiting(database), { deadlineMs: 20_000, what: 'the migration to wait' });
      await cycle.raw('DELETE FROM facets');
      return { running };
    });
    const { code, stdout, stderr } = await migrated.running;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^A table is in use.*\nMigrated: 0011-facets-beside-shops\.\n$/);
    await database.destroy();
    await testDatabase.drop();
  });

  describe('with several migrations to run', () => {
    let testDatabase: TestDatabase;
    let database: Database;
    beforeEach(async () => {
      testDatabase = await createTestDatabase();
      database = connectForTest(testDatabase.url, { poolMax: 2 });
      await database.raw(`DELETE FROM knex_migrations WHERE name LIKE '0011-%' OR name LIKE '0014-%'`);
      await database.raw(
        'ALTER TABLE facets ADD CONSTRAINT facets_shop_fkey FOREIGN KEY (shop_id) REFERENCES shops (id)',
      );
    });
    afterEach(async () => {
      await database.destroy();
      await testDatabase.drop();
    });

    const known = async () => {
      const { rows } = await database.raw<{ rows: { name: string }[] }>(
        `SELECT name FROM knex_migrations WHERE name LIKE '0011-%' OR name LIKE '0014-%' ORDER BY name`,
      );
      return rows.map(({ name }) => name);
    };

    it('keeps no table that one of them has changed while a later one waits for another, or takes long', async () => {
      await database.raw('ALTER TABLE platform_syncs DROP COLUMN page_at');
      const running = await database.transaction(async (mirror) => {
        await mirror.raw('SELECT 1 FROM platform_syncs');
        const migrated = runMigrate(testDatabase.url);
        await until(() => isWaiting(database), { deadlineMs: 20_000, what: 'the migration to wait' });
        const { rows: kept } = await database.raw<{ rows: object[] }>(
          `SELECT CAST(CAST(relation AS regclass) AS text) AS relation FROM pg_locks JOIN pg_stat_activity USING (pid)
           WHERE application_name = 'raw-materials-migrate' AND mode = 'AccessExclusiveLock'
             AND relation IN (CAST('shops' AS regclass), CAST('facets' AS regclass))`,
        );
        expect(kept).to.deep.equal([]);
        expect(await known()).to.deep.equal(['0011-facets-beside-shops']);
        return { migrated };
      });
      const { code, stdout, stderr } = await running.migrated;
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout).to.match(/(^|\n)Migrated: 0011-facets-beside-shops, 0014-time-of-last-page\.\n$/);
    });

    it('leaves those in place that come before one that fails, and says so', async () => {
      const { code, stdout, stderr } = await runMigrate(testDatabase.url);
      expect({ code, stdout }).to.deep.equal({ code: 70, stdout: 'Migrated: 0011-facets-beside-shops.\n' });
      expect(stderr).to.match(/^The migration failed: .*"page_at" of relation "platform_syncs" already exists/);
      expect(await known()).to.deep.equal(['0011-facets-beside-shops']);
    });
  });

  const again = `INSERT INTO knex_migrations (name, batch, migration_time) VALUES ('0007-cheaper-id-form', 1, now())`;
  for (const [end, statements, said] of [
    ['fails', ['ROLLBACK'], 'Migrated: 0007-cheaper-id-form.'],
    ['commits', [again, 'UPDATE knex_migrations_lock SET is_locked = 0', 'COMMIT'], 'The schema is up to date.'],
  ] as const)
    it(`waits likewise for a migration that was killed, and whose session goes on in Postgres and ${end}`, async () => {
      const testDatabase = await createTestDatabase();
      const database = connectForTest(testDatabase.url, { poolMax: 2 });
      await database.raw(`DELETE FROM knex_migrations WHERE name = '0007-cheaper-id-form'`);
      const killed = await database.transaction();
      await killed.raw('UPDATE knex_migrations_lock SET is_locked = 1');
      await boundAll(database, ['lock_timeout', 'statement_timeout']);
      const migrated = runMigrate(testDatabase.url);
      await until(() => isWaiting(database), { deadlineMs: 20_000, what: 'the migration to wait' });
      // Longer than it waits at a time.
      await killed.raw('SELECT pg_sleep(2.5)');
      for (const statement of statements) await killed.raw(statement);
      const { code, stdout, stderr } = await migrated;
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      const [waiting, ...rest] = stdout.split('\n');
      expect(waiting).to.match(/^A table is in use/);
      expect(rest).to.deep.equal([said, '']);
      await killed.rollback();
      await database.destroy();
      await testDatabase.drop();
    });

  it('ends with 78 where DATABASE_URL is missing', async () => {
    const { code, stderr } = await runMigrate(undefined);
    expect(code).to.equal(78);
    expect(stderr).to.contain('DATABASE_URL is missing');
  });

  it('ends with 78 where DATABASE_URL is no address of Postgres', async () => {
    const { code, stderr } = await runMigrate(' postgres://u:p4ss@127.0.0.1:1/x');
    expect(code).to.equal(78);
    expect(stderr).to.contain('must be an address that begins with postgres://').and.not.contain('p4ss');
  });

  it('ends with 69 where the database is away, so that a deployment knows to try again, and tells no password', async () => {
    const { code, stderr } = await runMigrate('postgres://u:p4ss@127.0.0.1:1/x');
    expect(code).to.equal(69);
    expect(stderr)
      .to.match(/^The database could not be reached: .*ECONNREFUSED/m)
      .and.not.contain('p4ss');
  });

  it('ends with 69 where the database will not have its role, and says that it refuses', async () => {
    const { url } = await testPostgres();
    const missing = url.replace(/:[^:@]*@/, '@');
    const { code, stderr } = await runMigrate(missing);
    expect(code, 'its socket does not keep it').to.equal(69);
    expect(stderr).to.match(/^The database refuses us: SASL: .* client password must be a string\.$/m);
    const wrong = await runMigrate(url.replace(/:[^:@]*@/, ':wr0ng@'));
    expect(wrong.code).to.equal(69);
    expect(wrong.stderr).to.match(/^The database refuses us: password authentication failed for user "\w+"\.$/m);
  });

  it('ends with 69 where the database takes no writes, and does not say that it could not be reached', async () => {
    const database = await createEmptyDatabase();
    const readOnly = new URL(database.url);
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
    const { code, stderr } = await runMigrate(readOnly.href);
    await database.drop();
    expect(code).to.equal(69);
    expect(stderr).to.match(/^The database could not do it: cannot execute CREATE \w+ in a read-only transaction\.$/m);
  });
});
