import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { scrape } from '../support/metrics/exposition.js';
import { createTestDatabase, startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/** The handbook's: our keys and channels, and no command that looks at or changes what belongs to others. */
const rules = '~{raw-materials}* ~raw-materials:* &{raw-materials}* +@all -@admin -@dangerous +info +client|list';
const token = 'a-token-for-this-test';

describe('a user of Redis with no more rights than the handbook says', () => {
  let own: TestRedis;
  let admin: Redis;
  let databaseOf: Awaited<ReturnType<typeof createTestDatabase>>;
  let service: Service;
  let database: Database;
  let shop: TestShop;
  before(async () => {
    [own, databaseOf] = await Promise.all([startTestRedis(), createTestDatabase()]);
    admin = new Redis(own.url, { retryStrategy: () => null });
    await admin.acl('SETUSER', 'ours', 'reset', 'on', '>secret', ...rules.split(' '));
    const redisUrl = Object.assign(new URL(own.url), { username: 'ours', password: 'secret' }).href;
    const apiEnv = { ADMIN_PORT: '0', ADMIN_TOKEN: token };
    service = await startService({ databaseUrl: databaseOf.url, redisUrl, apiEnv });
    database = connectForTest(databaseOf.url, { poolMax: 1 });
    shop = await createTestShop(database, { materials: 20 });
  });
  after(async () => {
    admin.disconnect();
    await database.destroy();
    await service.stop();
    await Promise.all([own.stop(), databaseOf.drop()]);
  });

  const addToEach = async (round: string) => {
    const baseUrl = service.baseUrls[0] ?? '';
    const add = (materialId: string) => addOne(baseUrl, shop, { materialId, idempotencyKey: `${round}-${materialId}` });
    return (await Promise.all(shop.materialIds.map(add))).map(({ status }) => status);
  };

  it('has the rights that the handbook says', async () => {
    const handbook = await readFile(new URL('../../shared/manage/README.md', import.meta.url), 'utf8');
    expect(handbook).to.contain(`\`${rules}\``);
  });

  it('is refused nothing: by changes, the limit, a worker that is killed, and the queue page', async () => {
    const all200 = shop.materialIds.map(() => 200);
    expect(await addToEach('first')).to.deep.equal(all200);
    const killed = service.workers.splice(0);
    for (const worker of killed) worker.kill('SIGKILL');
    await service.startWorker();
    await untilServing(service);
    expect(await addToEach('second')).to.deep.equal(all200);
    expect(await addToEach('second'), 'again, under the same keys').to.deep.equal(all200);
    expect(await totalOf(database, shop)).to.equal(2);

    const adminUrl = service.apis[0]?.adminUrl ?? '';
    const query = 'activeQueue=&page=1&jobsPerPage=10&status=latest';
    const page = await fetch(`${adminUrl}/queues/api/queues?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(page.status).to.equal(200);
    expect((await scrape(adminUrl)).sum('raw_materials_limiter_insured_total')).to.equal(0);
    expect(await admin.acl('LOG'), 'what it was refused').to.deep.equal([]);
  });
});
