import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { shopActiveMs, jobsSentSharedMax, jobsSentMax } from '../../api/dispatch/shop-limits.js';
import type { Database } from '../../shared/database/connect.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { holdWorkers, keepInTime } from '../support/processes/hold-workers.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
const beyond = 20;

describe('the jobs that a shop has in flight', () => {
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  before(async () => {
    // What waits while the worker is held must not time out, however busy the machine is.
    const env = { WAIT_MS: '60000', SHUTDOWN_TIMEOUT_MS: '70000' };
    service = await startService({ apis: 1, workers: 1, env });
    database = connectForTest(service.databaseUrl);
    harness = await openQueueHarness(service.redisUrl);
  });
  after(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
  });
  // A test that fails half-way must not leave a stopped worker behind.
  afterEach(() => service.workers[0]?.kill('SIGCONT'));

  const baseUrl = () => service.baseUrls[0] ?? '';
  const queued = async ({ shopId }: TestShop) =>
    (await harness.redis.keys(`${queuePrefix}:${queueName({ shopId, materialId: '*' })}:wait`)).length;
  const untilQueued = (shop: TestShop, count: number) =>
    until(async () => (await queued(shop)) === count, {
      deadlineMs: soonMsMax,
      what: `${count} materials of shop ${shop.shopId} to have a job`,
    });
  /** Keeps what comes waiting, and the shop from being refused for it: a slow machine takes seconds to send it all. */
  const hold = async ({ shopId }: TestShop) => {
    await holdWorkers(service, harness.redis);
    await keepInTime(harness.redis, shopId);
  };
  const totals = async (shop: TestShop) => {
    let sum = 0;
    for (const materialId of shop.materialIds) sum += await totalOf(database, shop, materialId);
    return sum;
  };

  it('are bounded; the rest waits in the API process, combined, and another shop passes it by', async () => {
    const large = await createTestShop(database, { materials: jobsSentMax + beyond });
    const other = await createTestShop(database);
    await hold(large);
    const addAll = () => large.materialIds.map((materialId) => addOne(baseUrl(), large, { materialId }));
    // The second come to materials whose first change has a job, or waits for one.
    const all = [...addAll(), ...addAll()];
    await untilQueued(large, jobsSentMax);
    const passing = addOne(baseUrl(), other);
    await untilQueued(other, 1);
    expect(await queued(large)).to.equal(jobsSentMax);
    service.workers[0]?.kill('SIGCONT');
    const answers = await Promise.all([...all, passing]);
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(await totals(large)).to.equal(2 * large.materialIds.length);
  });

  it('are fewer while other shops write, and as many again once those have been quiet', async () => {
    const large = await createTestShop(database, { materials: jobsSentMax + beyond });
    const [other, another] = [await createTestShop(database), await createTestShop(database)];
    const changeAll = () => large.materialIds.map((materialId) => addOne(baseUrl(), large, { materialId }));
    await hold(large);
    const waiting = addOne(baseUrl(), other);
    await untilQueued(other, 1);
    const beside = changeAll();
    await untilQueued(large, jobsSentSharedMax);
    const passing = addOne(baseUrl(), another);
    await untilQueued(another, 1);
    expect(await queued(large)).to.equal(jobsSentSharedMax);
    service.workers[0]?.kill('SIGCONT');
    const answers = await Promise.all([waiting, ...beside, passing]);

    await delay(shopActiveMs);
    await hold(large);
    const alone = changeAll();
    await untilQueued(large, jobsSentMax);
    service.workers[0]?.kill('SIGCONT');
    answers.push(...(await Promise.all(alone)));
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(await totals(large)).to.equal(2 * large.materialIds.length);
  });

  it('leave room for those of other materials while one is locked with many changes', async () => {
    const shop = await createTestShop(database, { materials: 2 });
    const [locked = '', free = ''] = shop.materialIds;
    const waiting = await database.transaction(async (transaction) => {
      await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ? AND material_id = ? FOR UPDATE', [
        shop.shopId,
        locked,
      ]);
      const sent = Array.from({ length: 2 * jobsSentMax }, () => addOne(baseUrl(), shop, { materialId: locked }));
      const name = queueName({ ...shop, materialId: locked });
      await until(async () => (await harness.redis.zscore(keys.scheduled, name)) !== null, {
        deadlineMs: soonMsMax,
        what: 'the locked material to have a job',
      });
      expect((await addOne(baseUrl(), shop, { materialId: free })).status).to.equal(200);
      return [Promise.all(sent)];
    });
    const [answers = []] = await Promise.all(waiting);
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(await totals(shop)).to.equal(2 * jobsSentMax + 1);
  });

  it('pass by those that are held up, where more materials are locked than a shop may have in flight beside others', async () => {
    const shop = await createTestShop(database, { materials: jobsSentSharedMax + 2 });
    const other = await createTestShop(database);
    const locked = shop.materialIds.slice(1);
    await addOne(baseUrl(), other);
    let isShared = true;
    const share = async () => {
      while (isShared) expect((await addOne(baseUrl(), other)).status).to.equal(200);
    };
    const waiting = await database.transaction(async (transaction) => {
      const rows = 'SELECT 1 FROM stock WHERE shop_id = ? AND material_id = ANY(?) FOR UPDATE';
      await transaction.raw(rows, [shop.shopId, locked]);
      const sharing = share();
      const sent = locked.map((materialId) => addOne(baseUrl(), shop, { materialId }));
      const names = locked.map((materialId) => queueName({ ...shop, materialId }));
      const sentJobs = async () =>
        (await Promise.all(names.map((name) => harness.redis.zscore(keys.scheduled, name)))).filter(Boolean).length;
      await until(async () => (await sentJobs()) >= jobsSentSharedMax, {
        deadlineMs: soonMsMax,
        what: 'as many locked materials to have a job as the shop may have in flight',
      });
      const [free = ''] = shop.materialIds;
      const answer = await addOne(baseUrl(), shop, { materialId: free });
      isShared = false;
      await sharing;
      expect(answer.status).to.equal(200);
      return [Promise.all(sent)];
    });
    const [answers = []] = await Promise.all(waiting);
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(await totals(shop)).to.equal(shop.materialIds.length);
  });
});
