import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { pruneFacets } from '../../shared/database/facets.js';
import { pruneOperations, pruneOperationsAhead } from '../../shared/database/prune-operations.js';
import type { SyncDeps } from '../../shared/mirror/sync-shop.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { checkGivenPostgres } from '../../shared/standalone/given-postgres.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { execute } from '../support/database/execute.js';
import { request } from '../support/http/http.js';
import { inventoryPath, listPath } from '../support/http/material-paths.js';
import { expectHistory } from '../support/http/opt-in-replies.js';
import { migrateTestDatabase, startTestPostgres } from '../support/processes/servers.js';
import type { TestDatabase, TestServer } from '../support/processes/servers.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';
import { startMirrorRounds } from '../../worker/mirror-rounds.js';

const soonMsMax = 10_000;
/** Longer than a worker waits for the answer to a commit: it has gone on to others meanwhile. */
const waitMs = 8_000;
/** A worker's mirrors wait 6 s; longer than a commit waits until that is known to be the standby. */
const mirrorAnswerMsMax = 4_000;
const onPlatform = `platform_domain = 'a.myshopify.com', platform_token_sealed = ''`;
const onNoPlatform = 'platform_domain = NULL, platform_token_sealed = NULL';
/** More than its lanes take at once. */
const materialCount = 120;

describe('while the synchronous standby of Postgres is away, and every commit waits for it', () => {
  let server: TestServer;
  let testDatabase: TestDatabase;
  let database: Database;
  let service: Service;
  let shops: TestShop[];
  before(async () => {
    server = await startTestPostgres();
    testDatabase = await migrateTestDatabase(server);
    database = connectForTest(testDatabase.url);
    shops = [];
    for (let count = 0; count < 4; count += 1) shops.push(await createTestShop(database, { materials: materialCount }));
    service = await startService({ databaseUrl: testDatabase.url, apiEnv: { WAIT_MS: String(waitMs) } });
    await setStandbys('nobody');
  });
  after(async () => {
    await setStandbys('');
    await service.stop();
    await database.destroy();
    await testDatabase.drop();
    await server.stop();
  });

  async function setStandbys(names: string): Promise<void> {
    await execute(testDatabase.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await execute(testDatabase.url, 'SELECT pg_reload_conf()');
    // Sessions that are there must have heard of it as well.
    const isSet = async () => {
      const { rows } = await database.raw<{ rows: { set: string }[] }>(
        `SELECT current_setting('synchronous_standby_names') AS set`,
      );
      return rows[0]?.set === names;
    };
    await until(isSet, { deadlineMs: soonMsMax, what: 'the setting' });
  }
  async function waitingFor(applicationName: string): Promise<number> {
    const { rows } = await database.raw<{ rows: { count: number }[] }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
       WHERE application_name = ? AND wait_event = 'SyncRep'`,
      [applicationName],
    );
    return rows[0]?.count ?? 0;
  }
  async function booked(): Promise<number> {
    const totals = await Promise.all((shops[0]?.materialIds ?? []).map((id) => totalOf(database, shops[0]!, id)));
    return totals.reduce((sum, total) => sum + total, 0);
  }
  const baseUrl = () => service.baseUrls[0] ?? '';
  const dryRun = ({ materialIds: [id = ''], locationIds: [locationId], writeKey: key }: TestShop) =>
    request(baseUrl(), {
      method: 'PATCH',
      path: `${inventoryPath(id)}?dryRun=true`,
      key,
      body: { updates: [{ locationId, delta: 1 }] },
    });
  /** How many of the changes show in the history that their 504 names. */
  async function shownOf({ readKey: key }: TestShop, messages: string[]): Promise<number> {
    const pages = messages.map(async (message) => {
      const [path = expect.fail(message)] = /\/v1\S+history\S+/.exec(message) ?? [];
      return expectHistory(await request(baseUrl(), { path, key })).items.length;
    });
    return (await Promise.all(pages)).filter((count) => count > 0).length;
  }

  it('reads go on, of however many keys', async () => {
    for (const key of shops.flatMap(({ readKey, writeKey }) => [readKey, writeKey])) {
      expect(await request(baseUrl(), { path: listPath, key })).to.have.property('status', 200);
    }
  });

  it('old operations, and facets without materials, are deleted all the same', async () => {
    const pruning = connectForTest(testDatabase.url, { poolMax: 1, answerMsMax: 2_000 });
    try {
      await execute(
        testDatabase.url,
        `SET synchronous_commit = off;
         INSERT INTO operations (op_id, shop_id, material_id, status, recorded_at)
         VALUES ('00000000-0000-7000-8000-000000000001', 1, '', 'cancelled', now() - interval '1 day'),
                ('ffffffff-ffff-7000-8000-000000000001', 1, '', 'cancelled', now() - interval '1 day');
         SELECT facet_of(1, 'Gone', 'virtual', false)`,
      );
      for (const prune of [pruneOperations, pruneOperationsAhead]) {
        const batch = await prune(pruning, { keptMs: 60_000, batchSize: 2 });
        expect(batch.isFull).to.equal(false);
      }
      // The first look marks what the second one deletes.
      for (const restMs of [0, -60_000]) await pruneFacets(pruning, { restMs, batchSize: 1_000 });
      const { rows } = await database.raw<{ rows: unknown[] }>(
        `SELECT op_id::text FROM operations UNION ALL SELECT vendor FROM facets WHERE vendor = 'Gone'`,
      );
      expect(rows).to.deep.equal([]);
    } finally {
      await pruning.destroy();
    }
  });

  it('writes are said to be open, those after them are refused, and they are there once when it is back', async () => {
    const [shop = expect.fail('no shop'), other = expect.fail('no other')] = shops;
    const sent = shop.materialIds.map((materialId) =>
      addOne(baseUrl(), shop, { materialId, deadlineMs: 2 * soonMsMax }),
    );
    const answers = await Promise.all(sent);
    const openAnswers = answers.filter(({ status }) => status === 504);
    expect(openAnswers).to.not.be.empty;
    expect(await waitingFor('raw-materials-worker'), 'sessions of the worker, a lane each').to.be.within(1, 2);
    const readyStatus = async () => (await request(baseUrl(), { path: '/readyz' })).status;
    await until(async () => (await readyStatus()) === 503, { deadlineMs: soonMsMax, what: 'it to be known' });
    expect(await checkGivenPostgres(testDatabase.url), 'doctor')
      .to.have.property('text')
      .that.contains('lets no commit return: a synchronous standby is away');
    const refused = await addOne(baseUrl(), other);
    expect(refused).to.have.nested.property('body.error.code', 'SERVICE_UNAVAILABLE');
    expect(await request(baseUrl(), { path: listPath, key: shop.readKey })).to.have.property('status', 200);
    expect(await dryRun(other), 'by which an agent finds it out').to.have.property('status', 503);
    const open = openAnswers.map(({ body }) => (body as { error: { message: string } }).error.message);
    expect(await shownOf(shop, open), 'seen before it is safe').to.equal(0);
    expect(await readyStatus(), 'so that this does not say that they never will be').to.equal(503);
    expect(await booked()).to.equal(0);

    await setStandbys('');
    await until(async () => (await readyStatus()) === 200, { deadlineMs: soonMsMax, what: 'the service' });
    expect(await shownOf(shop, open), 'as soon as it is said to be ready').to.be.within(1, open.length);
    expect(await booked()).to.be.within(1, open.length);
    expect(await dryRun(other)).to.have.property('status', 200);
    expect(await addOne(baseUrl(), other)).to.have.property('status', 200);
    expect(await totalOf(database, other)).to.equal(1);
  });

  it('mirrors leave no session behind for each shop that is due', async () => {
    await setStandbys('nobody');
    const said: string[] = [];
    const say = (_: object, message: string) => said.push(message);
    const url = testDatabase.url;
    const mirrors = connectForTest(url, { applicationName: 'test-mirror', answerMsMax: mirrorAnswerMsMax });
    await execute(url, `SET synchronous_commit = off; UPDATE shops SET ${onPlatform}`);
    const rounds = startMirrorRounds({
      // None is brought in: to take the first one is not to be committed.
      ...({ platform: undefined, tokenCipher: undefined } as unknown as SyncDeps),
      database: mirrors,
      everyMs: 60_000,
      logger: { warn: say, error: say } as unknown as Logger,
    });
    try {
      const isOver = () => said.length === shops.length || said.some((line) => line.includes('be looked after'));
      await until(isOver, { deadlineMs: 4 * soonMsMax, what: 'the end of the round' });
      expect(await waitingFor('test-mirror')).to.be.within(1, 2);
    } finally {
      await rounds.stop();
      await mirrors.destroy();
      await execute(url, `SET synchronous_commit = off; UPDATE shops SET ${onNoPlatform}`);
    }
  });
});
