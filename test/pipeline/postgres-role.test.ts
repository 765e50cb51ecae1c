import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkLedger } from '../../shared/database/ledger-check.js';
import type { Database } from '../../shared/database/connect.js';
import { pruneFacets } from '../../shared/database/facets.js';
import { migrateDatabase } from '../../shared/database/migrate-database.js';
import { facetsOfVendors } from '../../shared/database/insert-materials-with-stock.js';
import { pruneOperations } from '../../shared/database/prune-operations.js';
import { addOne } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { request } from '../support/http/http.js';
import { createEmptyDatabase, createTestDatabase } from '../support/processes/servers.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { runManage } from '../unit/manage/run-manage.js';

/** The handbook's, for the processes and `manage`; another role owns the tables and migrates. */
const grants = [
  'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO',
  'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO',
];
/** For tables that a later migration makes. */
const defaultGrants = [
  'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO',
  'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO',
];
/** From Postgres 17 on. */
const maintain = 'GRANT MAINTAIN ON ALL TABLES IN SCHEMA public TO';
/** From here on an import refreshes the statistics. */
const refreshedLines = 10_000;

describe('a role of Postgres with no more rights than the handbook says', () => {
  let databaseOf: Awaited<ReturnType<typeof createTestDatabase>>;
  let owner: Database;
  let database: Database;
  let restrictedUrl: string;
  let service: Service;
  let role: string;
  before(async () => {
    databaseOf = await createTestDatabase();
    role = `role_of_${new URL(databaseOf.url).pathname.slice(1)}`;
    owner = connectForTest(databaseOf.url, { poolMax: 1 });
    await owner.raw(`CREATE ROLE ?? LOGIN PASSWORD 'secret'`, [role]);
    for (const grant of grants) await owner.raw(`${grant} ??`, [role]);
    restrictedUrl = Object.assign(new URL(databaseOf.url), { username: role, password: 'secret' }).href;
    database = connectForTest(restrictedUrl, { poolMax: 1 });
    service = await startService({ databaseUrl: restrictedUrl });
  });
  after(async () => {
    await service.stop();
    await database.destroy();
    await owner.raw('DROP OWNED BY ??', [role]);
    await owner.raw('DROP ROLE ??', [role]);
    await owner.destroy();
    await databaseOf.drop();
  });

  it('has the rights that the handbook says', async () => {
    const handbook = await readFile(new URL('../../shared/manage/README.md', import.meta.url), 'utf8');
    for (const grant of [...grants, ...defaultGrants, maintain]) expect(handbook).to.contain(grant);
  });

  it('has them on tables and sequences of later migrations at once', async () => {
    const empty = await createEmptyDatabase();
    const migrator = connectForTest(empty.url, { poolMax: 1 });
    try {
      for (const grant of defaultGrants) await migrator.raw(`${grant} ??`, [role]);
      await migrateDatabase(empty.url, () => undefined);
      const { rows } = await migrator.raw<{ rows: { name: string; isGranted: boolean }[] }>(
        `SELECT relname AS name,
                CASE relkind WHEN 'S' THEN has_sequence_privilege(:role, oid, 'USAGE')
                ELSE (SELECT bool_and(has_table_privilege(:role, c.oid, one))
                      FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS one) END AS "isGranted"
         FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')`,
        { role },
      );
      expect(rows.map(({ name }) => name)).to.include.members(['ledger', 'facets', 'levels_id_seq']);
      expect(rows.filter(({ isGranted }) => !isGranted)).to.deep.equal([]);
    } finally {
      await migrator.destroy();
      await empty.drop();
    }
  });

  it('is refused nothing: by setting a shop up, by every path of the API, by what runs beside them', async () => {
    const shop = await createTestShop(database, { materials: 2 });
    const [baseUrl = ''] = service.baseUrls;
    const [materialId = ''] = shop.materialIds;
    expect(await addOne(baseUrl, shop, { idempotencyKey: 'once' })).to.include({ status: 200 });
    expect(await addOne(baseUrl, shop, { idempotencyKey: 'once' }), 'again').to.include({ status: 200 });
    const of = `/v1/raw-materials/${materialId}`;
    for (const asked of [
      { path: of, method: 'PATCH', body: { productName: 'Renamed', vendor: 'A new one' } },
      { path: '/v1/raw-materials?search=renamed&vendorFilter=A%20new%20one' },
      { path: `${of}?includeConnections=true` },
      { path: `${of}/inventory` },
      { path: `${of}/inventory/history` },
      { path: '/readyz' },
    ]) {
      const { status, text } = await request(baseUrl, { ...asked, key: shop.writeKey });
      expect(status, `${asked.path}: ${text}`).to.equal(200);
    }
    await pruneOperations(database, { keptMs: 0, batchSize: 10 });
    const [facetId = 0] = await facetsOfVendors(database, shop.shopId, ['Nobody']);
    for (const restMs of [0, -60_000]) await pruneFacets(database, { restMs, batchSize: 1_000 });
    const { rows } = await database.raw<{ rows: object[] }>('SELECT 1 FROM facets WHERE id = ?', [facetId]);
    expect(rows).to.deep.equal([]);
    expect(await checkLedger(database)).to.deep.include({ levels: 1, mismatchCount: 0 });
    const said = [...service.apis, ...service.workers].flatMap((each) => each.logs()).join('\n');
    expect(said).to.not.contain('permission denied');
  });

  it("imports, and is told that the statistics are another's to refresh, unless it has that right too", async () => {
    const { shopId } = await createTestShop(database, { materials: 1 });
    const folder = await temporaryFolder();
    const path = join(folder.path, 'many.csv');
    await writeFile(path, `productName\n${'Wax\n'.repeat(refreshedLines)}`);
    const importThem = () =>
      runManage(['materials', 'import', '--shop', String(shopId), path], { DATABASE_URL: restrictedUrl });
    const without = await importThem();
    expect(without).to.include({ code: 0 });
    expect(without.stderr).to.match(
      /^All of it is in, but the statistics were not refreshed: permission denied .*materials/,
    );
    const { rows } = await owner.raw<{ rows: { major: number }[] }>(
      `SELECT CAST(current_setting('server_version_num') AS integer) / 10000 AS major`,
    );
    if ((rows[0]?.major ?? 0) >= 17) {
      await owner.raw(`${maintain} ??`, [role]);
      expect(await importThem()).to.deep.include({ code: 0, stderr: '' });
    }
    await folder.remove();
  });
});
