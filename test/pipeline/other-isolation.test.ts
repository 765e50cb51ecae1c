import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { pruneFacets } from '../../shared/database/facets.js';
import { pruneOperations } from '../../shared/database/prune-operations.js';
import { addOne, recordOf, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { whileHeld } from '../support/processes/hold-workers.js';
import { request } from '../support/http/http.js';
import { connectPlatform, platformTokenKey } from '../support/shop/platform.js';
import { createTestDatabase } from '../support/processes/servers.js';
import type { TestDatabase } from '../support/processes/servers.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';
import { createCli } from '../unit/manage/run-manage.js';
import { manyVariants, startGatedPlatform } from '../unit/mirror/gated-platform.js';

const variants = 60;
const soonMsMax = 20_000;

describe('a service whose database is serializable by default', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let service: Service;
  let shop: TestShop;
  before(async () => {
    testDatabase = await createTestDatabase();
    const owner = connectForTest(testDatabase.url, { poolMax: 1 });
    const name = new URL(testDatabase.url).pathname.slice(1);
    await owner.raw(`ALTER DATABASE ?? SET default_transaction_isolation = 'serializable'`, [name]);
    shop = await createTestShop(owner, { materials: 4 });
    await noteIsolation(owner);
    await owner.destroy();
    // The setting holds for the sessions that are opened from now on.
    database = connectForTest(testDatabase.url);
    service = await startService({ databaseUrl: testDatabase.url, apiEnv: { WAIT_MS: '6000' } });
  });
  after(async () => {
    await service.stop();
    await database.destroy();
    await testDatabase.drop();
  });

  const baseUrl = () => service.baseUrls[0] ?? '';

  it('writes, reads, cancels, imports, mirrors and deletes as ever, and whatever is written says what it is', async () => {
    await changeAtOnce();
    await readAll();
    await cancelOne();
    await operate();
    for (const restMs of [0, -60_000]) await pruneFacets(database, { restMs, batchSize: 1_000 });
    await pruneOperations(database, { keptMs: -60_000, batchSize: 1_000 });
    const { rows } = await database.raw<{ rows: { table_name: string; isolation: string }[] }>(
      'SELECT DISTINCT table_name, isolation FROM isolation_noted ORDER BY table_name, isolation',
    );
    const of = (wanted: boolean) =>
      rows.filter(({ isolation }) => (isolation === 'read committed') === wanted).map(({ table_name: name }) => name);
    expect(of(false)).to.deep.equal([]);
    expect(of(true)).to.include.members([
      'api_keys',
      'facets',
      'ledger',
      'levels',
      'locations',
      'materials',
      'operations',
    ]);
    expect(of(true)).to.include.members(['platform_sightings', 'platform_syncs', 'shops', 'stock']);
    const said = [...service.apis, ...service.workers].flatMap((each) => each.logs()).join('\n');
    expect(said).to.not.contain('could not serialize access');
  });

  async function changeAtOnce(): Promise<void> {
    const changes = shop.materialIds.flatMap((materialId, index) => [
      addOne(baseUrl(), shop, { materialId }),
      addOne(baseUrl(), shop, { materialId }),
      request(baseUrl(), {
        method: 'PATCH',
        path: `/v1/raw-materials/${materialId}`,
        key: shop.writeKey,
        body: { vendor: `Vendor ${String(index % 2)}` },
      }),
    ]);
    for (const { status, text } of await Promise.all(changes)) expect(status, text).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(2);
  }

  async function readAll(): Promise<void> {
    const of = `/v1/raw-materials/${shop.materialIds[0] ?? ''}`;
    for (const path of ['/v1/raw-materials?search=material', of, `${of}/inventory`, `${of}/inventory/history`]) {
      const { status, text } = await request(baseUrl(), { path, key: shop.readKey });
      expect(status, `${path}: ${text}`).to.equal(200);
    }
  }

  async function cancelOne(): Promise<void> {
    const refused = await whileHeld(service, () => addOne(baseUrl(), shop));
    expect(refused.status, refused.text).to.equal(503);
    expect(await recordOf(database, String(refused.headers['x-request-id']))).to.equal('cancelled');
    const isTaken = async () => (await addOne(baseUrl(), shop)).status === 200;
    await until(isTaken, { deadlineMs: soonMsMax, what: 'writes to be taken again' });
  }

  async function operate(): Promise<void> {
    const cli = createCli({
      DATABASE_URL: testDatabase.url,
      PLATFORM_TOKEN_KEY: platformTokenKey,
      PLATFORM_ALLOW_LOOPBACK: 'true',
    });
    const shopId = (await cli.answer<{ id: number }>(['shops', 'create', '--name', 'Operated'])).id;
    const id = String(shopId);
    await cli.answer(['locations', 'add', '--shop', id, '--id', '1', '--name', 'one']);
    await cli.answer(['shops', 'set', id, '--default-location', '1']);
    const issue = ['keys', 'issue', '--shop', id, '--scope', 'write', '--label', 'k'];
    const key = await cli.answer<{ id: string }>(issue);
    await cli.answer(['keys', 'rotate', '--shop', id, key.id]);
    await cli.answer(['keys', 'revoke', '--shop', id, key.id]);
    await cli.answer(['materials', 'create', '--shop', id, '--product-name', 'x', '--level', '1=2']);
    const folder = await temporaryFolder();
    const platform = await startGatedPlatform(manyVariants(variants));
    try {
      const file = join(folder.path, 'materials.csv');
      await writeFile(file, 'productName,vendor\nWax,Vendor 0\nOil,Nobody yet\n');
      const imported = await cli.run(['materials', 'import', '--shop', id, file, '--json']);
      expect(imported.code, imported.stderr).to.equal(0);
      await connectPlatform(database, shopId, platform.url);
      const synced = await cli.run(['platform', 'sync', '--shop', id, '--remove-gone', '--json']);
      expect(synced.code, synced.stderr).to.equal(0);
    } finally {
      await platform.stop();
      await folder.remove();
    }
    expect(await cli.answer(['verify'])).to.include({ mismatchCount: 0 });
    const { totalCount } = await cli.answer<{ totalCount: number }>(['materials', 'list', '--shop', id]);
    expect(totalCount).to.equal(variants + 3);
  }
});

/** Has Postgres note in which isolation each table is written to. */
async function noteIsolation(owner: Database): Promise<void> {
  await owner.raw(`
    CREATE TABLE isolation_noted (table_name text, isolation text);
    CREATE FUNCTION note_isolation() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO isolation_noted VALUES (TG_TABLE_NAME, current_setting('transaction_isolation'));
      RETURN NULL;
    END $$;
    DO $$
    DECLARE name text;
    BEGIN
      FOR name IN SELECT relname FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'knex%' AND relname <> 'isolation_noted'
      LOOP
        EXECUTE format('CREATE TRIGGER note_isolation AFTER INSERT OR UPDATE OR DELETE ON %I
          FOR EACH STATEMENT EXECUTE FUNCTION note_isolation()', name);
      END LOOP;
    END $$`);
}
