import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { holdWorkers } from '../support/processes/hold-workers.js';
import { request } from '../support/http/http.js';
import type { Answer } from '../support/http/http.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
const [shopMax, processMax] = [4, 6];

describe('back-pressure', () => {
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  let shop: TestShop;
  before(async () => {
    const apiEnv = { IN_FLIGHT_SHOP_MAX: String(shopMax), IN_FLIGHT_MAX: String(processMax) };
    service = await startService({ apis: 1, workers: 1, apiEnv });
    database = connectForTest(service.databaseUrl);
    harness = await openQueueHarness(service.redisUrl);
  });
  after(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
  });
  beforeEach(async () => (shop = await createTestShop(database, { materials: 3 })));

  const baseUrl = () => service.baseUrls[0] ?? '';
  const isReady = async () => (await request(baseUrl(), { path: '/readyz' })).status === 200;
  const untilReady = (wanted: boolean) =>
    until(async () => (await isReady()) === wanted, {
      deadlineMs: soonMsMax,
      what: wanted ? 'the service to be ready' : 'the service to see what is away',
    });
  const expectRefusal = ({ status, body, headers }: Answer, message: RegExp) => {
    expect(status).to.equal(503);
    expect(body).to.have.nested.property('error.code', 'SERVICE_UNAVAILABLE');
    expect(body).to.have.nested.property('error.message').that.matches(message);
    expect(headers['retry-after']).to.match(/^[1-9]\d*$/);
  };
  const scriptCalls = async () =>
    [...(await harness.redis.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
      .map(([, calls]) => Number(calls))
      .reduce((sum, calls) => sum + calls, 0);
  /** Sends a change for each of these at once while the worker stands still, and counts the refused as they come. */
  const flood = async (senders: TestShop[]) => {
    await holdWorkers(service, harness.redis);
    let refused = 0;
    const sent = senders.map(async (each, index) => {
      const answer = await addOne(baseUrl(), each, { materialId: each.materialIds[index % 3] ?? '' });
      if (answer.status === 503) refused += 1;
      return answer;
    });
    return { sent, refused: () => refused };
  };

  it('refuses at once what a shop has beyond its writes in flight, and takes it again when they are done', async () => {
    const { sent, refused } = await flood(Array.from({ length: shopMax + 2 }, () => shop));
    await until(() => refused() === 2, { deadlineMs: soonMsMax, what: 'two refusals' });
    service.workers[0]?.kill('SIGCONT');
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 200)).to.have.length(shopMax);
    for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, /shop has too many writes/);
    expect((await addOne(baseUrl(), shop)).status).to.equal(200);
    const totals = await Promise.all(shop.materialIds.map((id) => totalOf(database, shop, id)));
    expect(totals.reduce((sum, total) => sum + total)).to.equal(shopMax + 1);
  });

  it('refuses what a process has beyond its writes in flight, whoever sends it', async () => {
    const shops = [
      shop,
      await createTestShop(database, { materials: 3 }),
      await createTestShop(database, { materials: 3 }),
    ];
    const { sent, refused } = await flood([...shops, ...shops, ...shops]);
    await until(() => refused() === 3, { deadlineMs: soonMsMax, what: 'three refusals' });
    service.workers[0]?.kill('SIGCONT');
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 200)).to.have.length(processMax);
    for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, /Too many writes/);
  });

  it('refuses new work of a shop whose oldest ready material waits too long, and of no other shop', async () => {
    await holdWorkers(service, harness.redis);
    const waiting = queueName({ shopId: shop.shopId, materialId: 'VMAT-VAR-waiting' });
    const other = await createTestShop(database);
    await harness.redis.rpush(`${keys.ready}:${String(shop.shopId)}`, waiting);
    await harness.redis.rpush(keys.ready, shop.shopId);
    await harness.redis.hset(keys.since, waiting, Date.now() - 10_000);
    // While the worker stands still only the API calls scripts: after two calls it has seen the list as it is now.
    const before = await scriptCalls();
    await until(async () => (await scriptCalls()) >= before + 2, {
      deadlineMs: soonMsMax,
      what: 'the API to ask twice',
    });
    const refusal = await addOne(baseUrl(), shop);
    const taken = addOne(baseUrl(), other);
    service.workers[0]?.kill('SIGCONT');
    await harness.redis.hdel(keys.since, waiting);
    expectRefusal(refusal, /backlog/);
    expect((await taken).status).to.equal(200);
    await until(async () => (await addOne(baseUrl(), shop)).status === 200, {
      deadlineMs: soonMsMax,
      what: 'work to be taken again',
    });
  });

  it('refuses at once where no worker is alive, queues nothing, and takes work again by itself', async () => {
    await Promise.all(service.workers.splice(0).map(stopProcess));
    await untilReady(false);
    await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: soonMsMax,
      what: 'the materials to be idle',
    });
    const before = await totalOf(database, shop);
    for (let count = 0; count < 10; count += 1) expectRefusal(await addOne(baseUrl(), shop), /No worker/);
    expect(await pipelineKeys(service.redisUrl)).to.deep.equal([]);
    expect((await request(baseUrl(), { path: '/v1/raw-materials', key: shop.readKey })).status).to.equal(200);
    await service.startWorker();
    await untilReady(true);
    expect((await addOne(baseUrl(), shop)).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(before + 1);
  });

  it('sees within seconds that the last worker was killed with −9', async () => {
    service.workers.splice(0).forEach((worker) => {
      worker.kill('SIGKILL');
    });
    await untilReady(false);
    expectRefusal(await addOne(baseUrl(), shop), /No worker/);
  });
});
