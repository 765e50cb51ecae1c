import { expect } from 'chai';
import nock from 'nock';
import { countOverdueMirrors } from '../../../shared/database/overdue-mirrors.js';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import { createShop } from '../../../shared/database/shops.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import type { Rounds } from '../../../shared/runtime/periodically.js';
import { startMirrorWatch } from '../../../worker/mirror-watch.js';
import { useDatabase } from '../../support/database/database.js';
import { scrape } from '../../support/metrics/exposition.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { startProcess, stopProcess } from '../../support/processes/service-process.js';
import type { Env, Proc } from '../../support/processes/service-process.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { until } from '../../support/time/until.js';
import { path, shutNetwork } from '../platform/fixtures.js';
import { onLocations, onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, domain, expectLocations, readShop } from './fixtures.js';

const overdueMs = 2 * 3_600_000;

describe('a mirror is overdue', () => {
  shutNetwork();
  const postgres = useDatabase();
  // Each test's shop is its own.
  afterEach(() => postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL'));

  const count = () => countOverdueMirrors(postgres.database, overdueMs);
  const createdHoursAgo = (shopId: number, hours: number) =>
    postgres.database.raw('UPDATE shops SET created_at = now() - make_interval(hours => ?) WHERE id = ?', [
      hours,
      shopId,
    ]);
  const oldShop = async () => {
    const { id } = await createConnectedShop(postgres.database);
    await createdHoursAgo(id, 1_000);
    return id;
  };
  /** What a run left, tried a minute ago. */
  const left = (shopId: number, columns: string, values: string) =>
    postgres.database.raw(
      `INSERT INTO platform_syncs (shop_id, attempted_at, platform_domain, ${columns})
       VALUES (?, now() - interval '1 minute', '${domain}', ${values})`,
      [shopId],
    );

  it('never where no shop has a platform', async () => {
    const { id } = await createShop(postgres.database, { name: 'Without', plan: 'enhanced' });
    await createdHoursAgo(id, 1_000);
    expect(await count()).to.equal(0);
  });

  it('where nobody ever brings it in, once the shop is as old', async () => {
    const { id } = await createConnectedShop(postgres.database);
    await createdHoursAgo(id, 1);
    expect(await count()).to.equal(0);
    await createdHoursAgo(id, 3);
    expect(await count()).to.equal(1);
  });

  const ago = (hours: number) => `now() - interval '${hours} hours'`;
  const cases: [what: string, columns: string, values: string, overdue: number][] = [
    ['not where it was brought in lately', 'synced_at', ago(1), 0],
    ['where it was brought in long ago', 'synced_at', ago(3), 1],
    [
      'where each try fails, though the clock was ahead when it was brought in',
      'synced_at, problem, problem_at',
      `${ago(-720)}, 'unauthorized', now()`,
      1,
    ],
    ['where its run began while the clock was ahead', 'started_at, phase', `${ago(-720)}, 'variants'`, 1],
    ['where each try fails', 'synced_at, problem, problem_at', `${ago(3)}, 'unauthorized', now()`, 1],
    ['not while its run gets on', 'synced_at, started_at, phase', `${ago(3)}, ${ago(1)}, 'variants'`, 0],
    ['where its run takes too long', 'synced_at, started_at, phase', `${ago(4)}, ${ago(3)}, 'variants'`, 1],
    [
      'where its run met a problem, however lately it began',
      'started_at, phase, problem, problem_at',
      `${ago(1)}, 'variants', 'throttled', now()`,
      1,
    ],
  ];
  for (const [what, columns, values, overdue] of cases) {
    it(what, async () => {
      await left(await oldShop(), columns, values);
      expect(await count()).to.equal(overdue);
    });
  }

  it('where it was created while the clock was ahead, and nobody ever brings it in', async () => {
    const { id } = await createConnectedShop(postgres.database);
    await createdHoursAgo(id, -720);
    expect(await count()).to.equal(1);
  });

  it('where what was brought in lately is from another platform', async () => {
    const shopId = await oldShop();
    await left(shopId, 'synced_at', 'now()');
    await connectPlatform(postgres.database, shopId, 'else.myshopify.com');
    expect(await count()).to.equal(1);
  });

  it('also once that one was tried and refuses: no time and no problem of the former passes as its own', async () => {
    const { database } = postgres;
    const shopId = await oldShop();
    const { run } = createSync(database);
    const syncOf = async () => (await listSyncs(database)).get(shopId);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect(await run(await readShop(database, shopId))).to.include({ status: 'complete' });
    onLocations(null).reply(401, '');
    expect(await run(await readShop(database, shopId))).to.include({ status: 'failed' });
    expect(await count()).to.equal(0);
    await connectPlatform(database, shopId, 'else.myshopify.com', 'token');
    const meanwhile: unknown[] = [];
    nock('https://else.myshopify.com')
      .post(path)
      .reply(async () => {
        meanwhile.push(await syncOf());
        return [401, ''];
      });
    expect(await run(await readShop(database, shopId))).to.include({ status: 'failed' });
    expect(meanwhile[0]).to.include({ syncedAt: null, problem: null, problemAt: null });
    expect(await syncOf()).to.include({ syncedAt: null, problem: 'unauthorized' });
    expect(await count()).to.equal(1);
  });
});

describe('when a mirror counts as overdue', () => {
  const postgres = useDatabase();
  const rounds: Rounds[] = [];
  afterEach(() => Promise.all(rounds.splice(0).map((each) => each.stop())));

  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;
  /** What a watch counts in its first look. */
  const counted = (everyMinutes: number) =>
    new Promise<number>((mirrorsOverdue) => {
      const deps = { database: postgres.database, everyMs: everyMinutes * 60_000, logger: quiet };
      rounds.push(startMirrorWatch({ ...deps, metrics: { mirrorsOverdue } }));
    });

  it('is after two intervals, and after an hour where these are shorter: a round has its time', async () => {
    const { id } = await createConnectedShop(postgres.database);
    const seen: number[][] = [];
    for (const minutes of [30, 70, 130]) {
      await postgres
        .database('shops')
        .where({ id })
        .update({ created_at: new Date(Date.now() - minutes * 60_000) });
      seen.push([await counted(1), await counted(60)]);
    }
    expect(seen).to.deep.equal([
      [0, 0],
      [1, 0],
      [1, 1],
    ]);
  });
});

describe('how many mirrors are overdue', () => {
  const postgres = useDatabase();
  const workers: Proc[] = [];
  let redis: TestRedis;
  before(async () => (redis = await startTestRedis()));
  afterEach(() => Promise.all(workers.splice(0).map(stopProcess)));
  after(() => redis.stop());

  async function startWorker(changes: Env): Promise<() => Promise<number>> {
    const worker = await startProcess('worker', {
      PATH: process.env['PATH'],
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      ADMIN_PORT: '0',
      ...changes,
    });
    workers.push(worker);
    return async () => (await scrape(worker.adminUrl)).sum('raw_materials_mirrors_overdue');
  }

  it('is told by workers that were not given the key, unless they are to bring in none', async () => {
    const { id } = await createConnectedShop(postgres.database);
    await postgres.database.raw(`UPDATE shops SET created_at = now() - interval '3 hours' WHERE id = ?`, [id]);
    const off = await startWorker({ PLATFORM_SYNC_EVERY_MINUTES: '0', PLATFORM_TOKEN_KEY: platformTokenKey });
    const notYet = await startWorker({ PLATFORM_SYNC_EVERY_MINUTES: '120' });
    const keyless = await startWorker({});
    await until(async () => (await keyless()) === 1, { what: 'the overdue mirror', deadlineMs: 30_000 });
    expect([await notYet(), await off()]).to.deep.equal([0, 0]);
  });
});
