import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findKeyWithShop, listKeys } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { findLevels } from '../../../shared/database/levels.js';
import { addLocation, listLocations } from '../../../shared/database/locations.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import { findConnections, findMaterial } from '../../../shared/database/materials.js';
import { createShop, findShop, listShops, updateShop } from '../../../shared/database/shops.js';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { demoVirtualMaterials } from '../../../shared/standalone/demo-catalogue.js';
import { seedDemo } from '../../../shared/standalone/demo-data.js';
import type { DemoAccess, DemoOptions } from '../../../shared/standalone/demo-data.js';
import { standInAccessToken, standInVariants } from '../../../shared/standalone/stand-in-platform.js';
import { withFailingWrites } from '../../support/database/broken-storage.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';
import { createCli } from '../manage/run-manage.js';

const platformTokenKey = 'ab'.repeat(32);
const realPlatform = { domain: 'real.myshopify.com', tokenSealed: Buffer.from('sealed with another key') };

describe('the demo data', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let dataFolder: string;
  let demo: DemoAccess;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { pipeline: true });
    dataFolder = await mkdtemp(join(tmpdir(), 'raw-materials-test-demo-'));
    demo = await seed();
  });

  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
    await rm(dataFolder, { recursive: true });
  });

  function seed(changed: Partial<DemoOptions> = {}): Promise<DemoAccess> {
    const platformUrl = 'http://127.0.0.1:40001';
    return seedDemo({ databaseUrl: testDatabase.url, dataFolder, platformUrl, platformTokenKey, ...changed });
  }

  async function stateOf(shopId: number) {
    const query = { page: 1, pageSize: 1_000, usageFilter: 'all', originFilter: 'all', vendorFilter: [] } as const;
    const list = await findMaterialPage(database, shopId, { ...query, sortBy: 'productName', sortOrder: 'asc' });
    return { shops: await listShops(database), keys: await listKeys(database, shopId), list };
  }

  it('has statistics from the start, or the planner would take the index of a sort key for the primary key', async () => {
    const { rows } = await database.raw<{ rows: { relname: string; reltuples: number }[] }>(
      "SELECT relname, reltuples FROM pg_class WHERE relname IN ('materials', 'stock', 'facets') ORDER BY relname",
    );
    expect(rows).to.have.lengthOf(3);
    for (const { relname, reltuples } of rows) expect(reltuples, relname).to.be.greaterThan(0);
  });

  it('waits for statistics no longer than for an answer, and Postgres makes them all the same', async () => {
    // Reckoned for each of its 1,000 materials and more, as for millions on a slow disk after a restore.
    const slow = (work: string) =>
      database.raw(`CREATE OR REPLACE FUNCTION slow(text) RETURNS text IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN PERFORM ${work}; RETURN $1; END $$`);
    await slow('1');
    await database.raw('CREATE INDEX slow_idx ON materials (slow(id))');
    await slow('pg_sleep(0.008)');
    const ofMaterials = `WHERE oid = CAST('materials' AS regclass)`;
    await database.raw(`UPDATE pg_class SET reltuples = -1 ${ofMaterials}`);
    const areThere = async () => {
      const query = `SELECT 1 FROM pg_class ${ofMaterials} AND reltuples > 0`;
      return (await database.raw<{ rows: unknown[] }>(query)).rows.length === 1;
    };
    expect(await seed()).to.deep.equal(demo);
    expect(await areThere()).to.equal(false);
    await until(areThere, { deadlineMs: 20_000, what: 'the statistics' });

    // A role's own timeout ends them; autovacuum, which has none, makes them later.
    await database.raw(`UPDATE pg_class SET reltuples = -1 ${ofMaterials}`);
    const setTimeout = (change: string) =>
      database.raw(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$`);
    await setTimeout("SET statement_timeout = ''1s''");
    try {
      expect(await seed()).to.deep.equal(demo);
    } finally {
      await setTimeout('RESET statement_timeout');
    }
  });

  it('is what a demo needs: locations, materials of both origins, vendors, uses and stock', async () => {
    const { list } = await stateOf(demo.shopId);
    expect(list.totalCount).to.be.at.least(36);
    expect(list.items.map(({ id }) => id)).to.have.members([...demo.virtualMaterialIds, ...demo.platformMaterialIds]);
    expect(demo.virtualMaterialIds).to.have.length.at.least(20);
    expect(list.availableVendors).to.have.length.at.least(5);
    expect((await listLocations(database, demo.shopId)).map(({ id }) => id)).to.have.members(demo.locationIds);
    expect(demo.locationIds).to.have.length.at.least(3);
    for (const id of demo.locationIds) expect(id).to.match(/^\d+$/);
    const used = list.items.filter(({ usage }) => usage.billOfMaterials + usage.subAssemblies > 0);
    expect(new Set(used.map(({ origin }) => origin))).to.have.all.keys('platform', 'virtual');
    expect(list.items.filter(({ usage }) => usage.subAssemblies > 0)).to.not.be.empty;
    const { levels = [] } = (await findLevels(database, demo.shopId, demo.virtualMaterialIds[0]!)) ?? {};
    expect(levels[0]?.quantity).to.be.greaterThan(0);
    expect((await findConnections(database, demo.shopId, demo.virtualMaterialIds[0]!)).billOfMaterials).to.not.be.empty;
    const shop = await findShop(database, demo.shopId);
    expect(shop?.defaultLocationId, 'where a written total is booked').to.equal(demo.locationIds[0]);
  });

  it("mirrors the stand-in's variants by id, sku and the sum of their levels", async () => {
    for (const { id, sku, levels } of standInVariants) {
      const sum = levels.reduce((total, { quantity }) => total + quantity, 0);
      const found = await findMaterial(database, demo.shopId, id);
      expect(found, id).to.include({ origin: 'platform', sku, inventoryQuantity: sum });
    }
  });

  it('has its stock in the ledger, every figure of it recomputable', async () => {
    const check = await checkLedger(database);
    expect(check).to.include({ mismatchCount: 0 });
    expect(check.entries).to.be.greaterThan(20);
    const { rows } = await database.raw<{ rows: object[] }>('SELECT DISTINCT channel, reason, clamped FROM ledger');
    expect(rows).to.deep.equal([{ channel: 'cli', reason: 'Opening stock', clamped: false }]);
  });

  it('has keys of three shops that are what their names say', async () => {
    const wanted = [
      [demo.readKey, 'read', 'enhanced', demo.shopId],
      [demo.writeKey, 'write', 'enhanced', demo.shopId],
      [demo.basicPlanKey, 'write', 'basic', undefined],
      [demo.loadKey, 'write', 'enhanced', undefined],
    ] as const;
    for (const [key, scope, plan, shopId] of wanted) {
      const found = await findKeyWithShop(database, parseKey(key)?.id ?? '');
      expect(found?.secretHash).to.deep.equal(parseKey(key)?.secretHash);
      expect([found?.scope, found?.shop.plan, found?.revokedAt]).to.deep.equal([scope, plan, null]);
      if (shopId !== undefined) expect(found?.shopId).to.equal(shopId);
    }
    expect((await stat(join(dataFolder, 'demo-keys.json'))).mode & 0o777).to.equal(0o600);
  });

  it('has a load shop of 1,000 virtual materials and 100 locations that no limit holds back', async () => {
    const { shop } = (await findKeyWithShop(database, parseKey(demo.loadKey)?.id ?? ''))!;
    expect(shop.rateLimitPoints).to.be.at.least(1e9);
    expect((await stateOf(shop.id)).list.items.map(({ id }) => id)).to.have.members(demo.load.materialIds);
    expect(demo.load.materialIds).to.have.lengthOf(1_000);
    expect((await listLocations(database, shop.id)).map(({ id }) => id)).to.have.members(demo.load.locationIds);
    expect(demo.load.locationIds).to.have.lengthOf(100);
  });

  it('is the same after a second start: nothing twice, the same keys', async () => {
    const before = await stateOf(demo.shopId);
    expect(await seed()).to.deep.equal(demo);
    expect(await stateOf(demo.shopId)).to.deep.equal(before);
  });

  it('leaves what people changed in it, and knows its shop by another name', async () => {
    const changed = { name: 'Our workshop', allowNegativeInventory: true, defaultLocationId: null };
    await updateShop(database, demo.shopId, changed);
    const shops = await listShops(database);
    expect(await seed()).to.deep.equal(demo);
    expect(await findShop(database, demo.shopId)).to.include(changed);
    expect(await listShops(database)).to.deep.equal(shops);
  });

  it('takes no other shop for its own, only since it has the name, a location and imported materials', async () => {
    const empty = await createTestDatabase();
    const other = connectForTest(empty.url, { poolMax: 1 });
    try {
      const { id } = await createShop(other, { name: 'Demo', plan: 'basic' });
      await addLocation(other, id, { id: demo.locationIds[0]!, name: 'Workshop' });
      await createMaterials(other, id, demoVirtualMaterials);
      await updateShop(other, id, { platform: realPlatform });
      const theirs = await findShop(other, id);
      const folder = await mkdtemp(join(dataFolder, 'other-'));
      const ofThese = { databaseUrl: empty.url, dataFolder: folder };
      expect((await seed(ofThese)).shopId).to.not.equal(id);
      expect(await findShop(other, id)).to.deep.equal(theirs);
    } finally {
      await other.destroy();
      await empty.drop();
    }
  });

  it('a start that fails within the stock leaves nothing of its shop, and the next one makes all of it', async () => {
    const empty = await createTestDatabase();
    const other = connectForTest(empty.url, { poolMax: 1 });
    try {
      const folder = await mkdtemp(join(dataFolder, 'other-'));
      const ofThese = { databaseUrl: empty.url, dataFolder: folder };
      const firstShop = { table: 'ledger', shopId: 1 } as const;
      const failure = await withFailingWrites(other, firstShop, () => seed(ofThese).catch((error: unknown) => error));
      expect(failure).to.be.instanceOf(Error).and.have.property('code', 'P0001');
      expect(await listShops(other)).to.be.empty;
      const { shopId, virtualMaterialIds } = await seed(ofThese);
      expect((await findLevels(other, shopId, virtualMaterialIds[0]!))?.levels).to.have.lengthOf(2);
      expect(await checkLedger(other)).to.include({ mismatchCount: 0 });
    } finally {
      await other.destroy();
      await empty.drop();
    }
  });

  for (const [what, change] of [
    ['was revoked', 'revoked_at = now()'],
    ['is to end', "expires_at = '2100-01-31'"],
    ['has another scope by now', "scope = 'write'"],
    ['is of another shop by now', 'shop_id = shop_id + 1'],
    ['has another secret, as in a database of another start', "secret_hash = decode(repeat('00', 32), 'hex')"],
  ] as const) {
    it(`makes a key anew that ${what}, and keeps the others`, async () => {
      await database.raw(`UPDATE api_keys SET ${change} WHERE id = ?`, [parseKey(demo.readKey)!.id]);
      const again = await seed();
      expect(again.readKey).to.not.equal(demo.readKey);
      expect(again).to.deep.equal({ ...demo, readKey: again.readKey });
      for (const key of [again.readKey, again.writeKey]) {
        expect((await findKeyWithShop(database, parseKey(key)!.id))?.revokedAt).to.equal(null);
      }
    });
  }

  for (const [name, content] of [
    ['lost', undefined],
    ['not JSON', '{"readKey":'],
    ['null', 'null'],
  ] as const) {
    it(`makes the keys anew and revokes the old ones where their file is ${name}`, async () => {
      const path = join(dataFolder, 'demo-keys.json');
      if (content === undefined) await rm(path);
      else await writeFile(path, content);
      const again = await seed();
      expect(JSON.parse(await readFile(path, 'utf8'))).to.include({ writeKey: again.writeKey, loadKey: again.loadKey });
      expect((await findKeyWithShop(database, parseKey(demo.writeKey)!.id))?.revokedAt).to.be.instanceOf(Date);
      expect((await findKeyWithShop(database, parseKey(again.writeKey)!.id))?.revokedAt).to.equal(null);
    });
  }

  it('follows the stand-in to another port, and seals its token anew for another key', async () => {
    const key = 'cd'.repeat(32);
    await seed({ platformUrl: 'http://127.0.0.1:40002', platformTokenKey: key });
    const platform = (await findShop(database, demo.shopId))?.platform;
    expect(platform?.domain).to.equal('http://127.0.0.1:40002');
    const opened = createTokenCipher(key).open(platform!.tokenSealed, demo.shopId);
    expect(opened).to.equal(standInAccessToken);
  });

  it('stays with a real platform that somebody has connected its shop to', async () => {
    await updateShop(database, demo.shopId, { platform: realPlatform });
    expect(await seed()).to.deep.equal(demo);
    expect((await findShop(database, demo.shopId))?.platform).to.deep.equal(realPlatform);
  });

  it('stays without a platform where somebody has disconnected its shop', async () => {
    await updateShop(database, demo.shopId, { platform: null });
    expect(await seed()).to.deep.equal(demo);
    expect((await findShop(database, demo.shopId))?.platform).to.equal(null);
  });

  it('says which platform its shop has', async () => {
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    await seed({ say });
    for (const platform of [realPlatform, null]) {
      await updateShop(database, demo.shopId, { platform });
      await seed({ say });
    }
    expect(said).to.deep.equal([
      'Commerce platform: a stand-in for the demo shop on http://127.0.0.1:40001',
      'Commerce platform: real.myshopify.com for the demo shop',
      'Commerce platform: none, as somebody has disconnected the demo shop; back: ' +
        `PLATFORM_TOKEN=${standInAccessToken} ` +
        `npm run manage -- shops set ${demo.shopId} --platform-domain http://127.0.0.1:40001`,
    ]);
  });

  it('has its stand-in again after the command that it says', async () => {
    await updateShop(database, demo.shopId, { platform: null });
    let said = '';
    await seed({ say: (line) => (said = line) });
    const [, PLATFORM_TOKEN = '', args = ''] = /PLATFORM_TOKEN=(\S+) npm run manage -- (.*)$/.exec(said) ?? [];
    const besideStart = { PLATFORM_TOKEN_KEY: platformTokenKey, PLATFORM_ALLOW_LOOPBACK: 'true' };
    const cli = createCli({ DATABASE_URL: testDatabase.url, ...besideStart });
    await cli.answer(args.split(' '), { PLATFORM_TOKEN });
    await seed({ say: (line) => (said = line) });
    expect(said).to.equal('Commerce platform: a stand-in for the demo shop on http://127.0.0.1:40001');
    const { tokenSealed } = (await findShop(database, demo.shopId))!.platform!;
    expect(createTokenCipher(platformTokenKey).open(tokenSealed, demo.shopId)).to.equal(standInAccessToken);
  });
});
