import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/change.js';
import { connectForTest, startFaultRun, untilServing } from '../support/fault-run.js';
import { request } from '../support/http.js';
import { startTestRedis } from '../support/servers.js';
import type { TestRedis } from '../support/servers.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { createTestShop } from '../support/shop.js';

describe('T5: Redis killed with −9, and flushed', () => {
  let redis: TestRedis;
  let service: Service;
  let database: Database;
  before(async () => {
    redis = await startTestRedis();
    service = await startService({ apis: 2, workers: 2, redisUrl: redis.url });
    database = connectForTest(service.databaseUrl);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
    await redis.stop();
  });

  it('under load: nothing acknowledged is lost, nothing is applied twice, and all goes on by itself', async () => {
    const run = await startFaultRun({ title: 'T5', service, database });
    await run.progress(200);
    for (let flush = 0; flush < 3; flush += 1) {
      await redis.flush();
      await run.progress(50 + run.dice.below(100));
    }
    for (let kill = 0; kill < 2; kill += 1) {
      await redis.kill();
      await redis.restart();
      await run.progress(50 + run.dice.below(100));
    }
    await run.judge();
  });

  it('while requests wait for a worker: they are queued again, and answered within the wait', async () => {
    const shop = await createTestShop(database, { materials: 5 });
    for (const worker of service.workers) worker.kill('SIGSTOP');
    const asked = shop.materialIds.map((materialId, index) =>
      addOne(service.baseUrls[index % 2] ?? '', shop, { materialId }),
    );
    await redis.flush();
    for (const worker of service.workers) worker.kill('SIGCONT');
    for (const [index, answer] of (await Promise.all(asked)).entries()) {
      // Which of them were on their way into the queue when it was flushed is not certain, so some may be refused.
      expect(answer.status).to.be.oneOf([200, 503]);
      expect(await totalOf(database, shop, shop.materialIds[index])).to.equal(answer.status === 200 ? 1 : 0);
    }
    await untilServing(service);
  });

  it('away: writes are refused, reads go on, and both are healthy again by themselves', async () => {
    const shop = await createTestShop(database);
    await redis.kill();
    for (const baseUrl of service.baseUrls) {
      const answer = await addOne(baseUrl, shop);
      expect(answer.status).to.equal(503);
      expect(answer.headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect((await request(baseUrl, { path: '/v1/raw-materials', key: shop.readKey })).status).to.equal(200);
      expect((await request(baseUrl, { path: '/readyz' })).status).to.equal(503);
      expect((await request(baseUrl, { path: '/healthz' })).status).to.equal(200);
    }
    expect(await totalOf(database, shop)).to.equal(0);
    await redis.restart();
    await untilServing(service);
    for (const baseUrl of service.baseUrls) {
      const answer = await addOne(baseUrl, shop);
      expect(answer.status, answer.text).to.equal(200);
    }
    expect(await totalOf(database, shop)).to.equal(2);
    expect([...service.apis, ...service.workers].filter((each) => each.hasExited())).to.deep.equal([]);
  });
});
