import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import { connectForTest } from '../support/database/database.js';
import type { FaultRun } from '../support/faults/fault-run.js';
import { request } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { timesFigures } from '../support/faults/recovery.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

/** One flush, then kills: 100 and 300 in the long run. */
const faultsARound = 4;
const awayMsMax = 1_000;
const awareMsMax = 10_000;
const refusalMsMax = 100;

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
    const size = sizeOf({ small: 5, long: 400 });
    const noticesMs: number[] = [];
    const refusalsMs: number[] = [];
    const figures = () => [
      ...timesFigures('notice', noticesMs, refusalMsMax),
      ...timesFigures('refusal', refusalsMs, refusalMsMax),
    ];
    await runFaultRounds(
      { test: 'T5', unit: 'faults', size, service, database, faultsARound: 20, recoveryMsMax: 5_000, figures },
      async (run) => {
        while (run.left() > 0) {
          run.noteFault();
          if (run.made() % faultsARound === 0) await redis.flush();
          else await killRedis(run, noticesMs, refusalsMs);
          run.add();
          await run.recovered();
          await run.progress(run.dice.below(100));
        }
      },
    );
  });

  /**
   * Adds how long the API processes took to know that Redis is away, and how long the changes sent from then on took to
   * be refused, as each must be. One sent before its process knew may stand behind others that Redis has taken, and is
   * answered with them.
   */
  async function killRedis(run: FaultRun, noticesMs: number[], refusalsMs: number[]): Promise<void> {
    await redis.kill();
    const goneMs = performance.now();
    const isAware = async (baseUrl: string) => (await request(baseUrl, { path: '/readyz' })).status === 503;
    await Promise.all(
      service.baseUrls.map((baseUrl) =>
        until(() => isAware(baseUrl), { deadlineMs: awareMsMax, what: `${baseUrl} to know that Redis is away` }),
      ),
    );
    const knownMs = performance.now();
    noticesMs.push(knownMs - goneMs);
    await delay(run.dice.below(awayMsMax));
    const backMs = performance.now();
    await redis.restart();
    await run.recovered();
    const attempts = run.load.history.intents.flatMap((intent) => intent.attempts);
    for (const { sentMs, answeredMs, answer } of attempts) {
      if (sentMs < knownMs || sentMs > backMs) continue;
      if (answeredMs < backMs) expect(answer?.status, 'while Redis is away').to.equal(503);
      // One sent later than this may have met a Redis that was back: then its time is not that of a refusal.
      if (sentMs < backMs - refusalMsMax) refusalsMs.push(answeredMs - sentMs);
    }
  }

  it('while requests wait for a worker: they are queued again, and answered within the wait', async () => {
    const shop = await createTestShop(database, { materials: 5 });
    await freezeWorkers(service, service.workers);
    const asked = shop.materialIds.map((materialId, index) =>
      addOne(service.baseUrls[index % 2] ?? '', shop, { materialId }),
    );
    const harness = await openQueueHarness(redis.url);
    for (const materialId of shop.materialIds) {
      const isQueued = async () => (await harness.jobs({ shopId: shop.shopId, materialId }, 'wait')).length === 1;
      await until(isQueued, { deadlineMs: awareMsMax, what: `the job of ${materialId}` });
    }
    harness.close();
    await redis.flush();
    for (const worker of service.workers) worker.kill('SIGCONT');
    for (const [index, answer] of (await Promise.all(asked)).entries()) {
      expect(answer.status, answer.text).to.equal(200);
      expect(await totalOf(database, shop, shop.materialIds[index])).to.equal(1);
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
