import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import type { Answer } from '../support/http/http.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 10_000;

describe('a request that hears nothing', () => {
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  let shop: TestShop;
  before(async () => {
    service = await startService({ apis: 1, workers: 1 });
    database = connectForTest(service.databaseUrl);
    harness = await openQueueHarness(service.redisUrl);
  });
  after(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
  });
  beforeEach(async () => (shop = await createTestShop(database)));

  const ref = () => ({ shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' });
  /** Sends requests while the worker stands still, and lets `happen` do something to what Redis holds of them. */
  const meanwhile = async (count: number, happen: (jobId: string) => Promise<unknown>): Promise<Answer[]> => {
    await freezeWorkers(service, service.workers);
    const asked = Array.from({ length: count }, () => addOne(service.baseUrls[0] ?? '', shop));
    const jobId = await until(async () => (await harness.jobs(ref(), 'wait'))[0], {
      deadlineMs: soonMsMax,
      what: 'the job',
    });
    await happen(jobId);
    service.workers[0]?.kill('SIGCONT');
    return Promise.all(asked);
  };
  const expectApplied = async (answers: Answer[]) => {
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
    expect(await totalOf(database, shop)).to.equal(answers.length);
    await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: soonMsMax,
      what: 'the material to be idle',
    });
  };

  it('since Redis has forgotten the scripts is refused for a moment, and no longer', async () => {
    const write = async () => (await addOne(service.baseUrls[0] ?? '', shop)).status;
    const untilTaken = () => until(async () => (await write()) === 200, { deadlineMs: soonMsMax, what: 'a write' });
    await untilTaken();
    await harness.redis.script('FLUSH');
    await untilTaken();
  });

  it('since its announcement was lost is announced again', async () => {
    await expectApplied(await meanwhile(5, () => harness.redis.del(keys.scheduled, keys.ready, keys.since, keys.wake)));
  });

  it('since its job was lost has it added again, and holds up nothing behind it', async () => {
    const lose = async (jobId: string) => {
      const base = `${queuePrefix}:${queueName(ref())}`;
      await harness.redis.del(`${base}:wait`, `${base}:${jobId}`);
    };
    await expectApplied(await meanwhile(5, lose));
  });

  it('since Redis was flushed has its job added and announced again', async () => {
    await expectApplied(await meanwhile(5, () => harness.redis.flushall()));
  });

  it('since the reply was lost finds its answer on record, even with no worker left', async () => {
    const doomed = await service.startWorker({ FAIL_POINTS: 'after-commit=kill:1' });
    const [standing] = service.workers;
    await freezeWorkers(service, standing ? [standing] : []);
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await doomed.fired('after-commit');
    await doomed.exited;
    expect((await asked).status).to.equal(200);
    standing?.kill('SIGCONT');
    await expectApplied([await asked]);
  });

  it('since the connection for replies was lost finds its answer on record', async () => {
    await expectApplied(
      await meanwhile(3, async () => {
        const list = String(await harness.redis.client('LIST'));
        const [, id = ''] = /id=(\d+) .*name=raw-materials-replies/.exec(list) ?? [];
        await harness.redis.client('KILL', 'ID', id);
      }),
    );
  });
});
