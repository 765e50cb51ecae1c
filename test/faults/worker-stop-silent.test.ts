import { expect } from 'chai';
import { addOne, totalOf } from '../support/shop/change.js';
import type { Database } from '../../shared/database/connect.js';
import { createShop } from '../../shared/database/shops.js';
import { startFaultProxy } from '../support/faults/fault-proxy.js';
import type { FaultProxy } from '../support/faults/fault-proxy.js';
import { useDatabase } from '../support/database/database.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startProcess, stopProcess } from '../support/processes/service-process.js';
import { connectPlatform, platformTokenKey, startScriptedPlatform } from '../support/shop/platform.js';
import { locationsReply } from '../unit/platform/list-fixtures.js';
import { startProxiedService } from '../support/faults/proxied-service.js';
import type { ProxiedService } from '../support/faults/proxied-service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;

describe('a worker that is stopped beside a Postgres that says nothing', () => {
  let proxied: ProxiedService;
  before(async () => {
    proxied = await startProxiedService({
      apis: 1,
      workers: 1,
      env: { WAIT_MS: '30000', SHUTDOWN_TIMEOUT_MS: '40000' },
    });
  });
  after(() => proxied.stop());

  it('gives up what it has in hand, gives it back, and ends by itself; another worker applies it, once', async () => {
    const { service, database, links } = proxied;
    const [worker] = service.workers;
    const [toPostgres] = links['worker–Postgres'];
    const shop = await createTestShop(database);
    await toPostgres?.inject({ kind: 'hold' });
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await until(() => (toPostgres?.struck() ?? 0) > 0, { deadlineMs: soonMsMax, what: 'a statement to be held' });
    worker?.kill('SIGTERM');
    expect(await worker?.exited, worker?.logs().join('\n')).to.deep.equal({ code: 0, signal: null });
    expect(worker?.logs().join('\n')).to.contain('"msg":"closed"');
    await service.startWorker();
    expect((await asked).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(1);
    await toPostgres?.heal();
  });
});

describe('a worker that is stopped in the middle of a mirror, beside a Postgres that says nothing', () => {
  const postgres = useDatabase();
  let redis: TestRedis;
  let toPostgres: FaultProxy;
  before(async () => {
    redis = await startTestRedis();
    toPostgres = await startFaultProxy({ port: Number(new URL(postgres.url).port) });
  });
  after(async () => {
    await toPostgres.close();
    await redis.stop();
  });

  it('gives the page up, and ends by itself', async () => {
    const { database } = postgres;
    const { id } = await createShop(database, { name: 'Mirror', plan: 'enhanced' });
    const holder = await database.transaction();
    const platform = await startScriptedPlatform((_request, response) => {
      void holder.raw('SELECT 1 FROM platform_syncs WHERE shop_id = ? FOR UPDATE', [id]).then(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(locationsReply([])));
      });
    });
    await connectPlatform(database, id, platform.url);
    const worker = await startProcess('worker', {
      PATH: process.env['PATH'],
      DATABASE_URL: toPostgres.through(postgres.url),
      REDIS_URL: redis.url,
      PLATFORM_TOKEN_KEY: platformTokenKey,
      PLATFORM_ALLOW_LOOPBACK: 'true',
    });
    try {
      await until(async () => pageWaits(database), { deadlineMs: soonMsMax, what: 'the page to wait for the row' });
      await toPostgres.inject({ kind: 'hold' });
      worker.kill('SIGTERM');
      expect(await worker.exited, worker.logs().join('\n')).to.deep.equal({ code: 0, signal: null });
      expect(worker.logs().join('\n')).to.contain('"msg":"closed"');
    } finally {
      await stopProcess(worker);
      await platform.stop();
      await holder.rollback();
      await toPostgres.heal();
    }
  });
});

async function pageWaits(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: object[] }>(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND query LIKE '%platform_syncs%generation = %FOR UPDATE%'`,
  );
  return rows.length > 0;
}
