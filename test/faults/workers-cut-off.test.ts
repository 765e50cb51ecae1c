import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { request } from '../support/http/http.js';
import { scrape } from '../support/metrics/exposition.js';
import { createTestDatabase } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;

describe('workers that cannot use Postgres, while the API can', () => {
  const role = `worker_${process.pid}`;
  let base: Awaited<ReturnType<typeof createTestDatabase>>;
  let database: Database;
  let service: Service;
  let shop: TestShop;
  before(async () => {
    base = await createTestDatabase();
    database = connectForTest(base.url);
    await database.raw(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'first'`);
    const workers = new URL(base.url);
    [workers.username, workers.password] = [role, 'first'];
    const env = { workerEnv: { DATABASE_URL: workers.href }, apiEnv: { ADMIN_PORT: '0' } };
    service = await startService({ databaseUrl: base.url, workers: 2, ...env });
    shop = await createTestShop(database, { materials: 1 });
  });
  after(async () => {
    await service.stop();
    await database.raw(`DROP ROLE ${role}`);
    await database.destroy();
    await base.drop();
  });

  const setPassword = (password: string) => database.raw(`ALTER ROLE ${role} PASSWORD '${password}'`);
  const endSessions = () =>
    database.raw('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ?', [role]);
  const add = () => addOne(service.baseUrls[0] ?? '', shop);
  const ready = () => request(service.baseUrls[0] ?? '', { path: '/readyz' });

  it('count as none: /readyz says so, and writes are refused at once, until they can use it again', async () => {
    expect((await add()).status).to.equal(200);
    await setPassword('second');
    await endSessions();
    // An idle lane learns it from its next work, so there has to be some for each.
    const isToldSo = async () => {
      await Promise.all([add(), add()]);
      return (await ready()).status === 503;
    };
    await until(isToldSo, { deadlineMs: soonMsMax, what: '/readyz to say so' });
    expect((await ready()).text).to.contain('no worker of this database is alive and can use it');
    const refused = await add();
    expect(refused.status).to.equal(503);
    expect(refused.text).to.contain('No worker of this database is running, or none can use it.');
    const before = await totalOf(database, shop);

    await setPassword('first');
    await untilServing(service);
    // As the API sees it: as long as what was queued meanwhile is the oldest, the shop's backlog is too deep for more.
    const isWorkedOff = async () =>
      (await scrape(service.apis[0]?.adminUrl)).sum('raw_materials_backlog_oldest_seconds') === 0;
    await until(isWorkedOff, { deadlineMs: soonMsMax, what: 'the workers to take what was queued' });
    const served = await add();
    expect(served.status, served.text).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(before + 1);
  });
});
