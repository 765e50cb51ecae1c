import { expect } from 'chai';
import { graceMs } from '../../api/dispatch/settings.js';
import { jobsSentSharedMax } from '../../api/dispatch/shop-limits.js';
import type { Database } from '../../shared/database/connect.js';
import { queueName, queuePrefix } from '../../shared/queue/names.js';
import { addOne, recordOf, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { holdWorkers } from '../support/processes/hold-workers.js';
import type { Answer } from '../support/http/http.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Proc } from '../support/processes/service-process.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { startOwnTime } from '../support/time/own-time.js';
import { until } from '../support/time/until.js';

const waitMs = 1_000;
const soonMsMax = 10_000;

describe('the end of the wait', () => {
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  let shop: TestShop;
  before(async () => {
    const apiEnv = { WAIT_MS: String(waitMs), IN_FLIGHT_MAX: '3000', IN_FLIGHT_SHOP_MAX: '3000' };
    service = await startService({ apis: 1, workers: 1, apiEnv });
    database = connectForTest(service.databaseUrl, { poolMax: 4 });
    harness = await openQueueHarness(service.redisUrl);
  });
  after(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
  });
  // The API learns a moment later what the test before did to the worker; until then it refuses writes.
  beforeEach(async () => {
    const probe = await createTestShop(database);
    await until(async () => (await addOne(baseUrl(), probe)).status === 200, {
      deadlineMs: soonMsMax,
      what: 'writes to be taken',
    });
    await untilIdle();
    shop = await createTestShop(database);
  });

  // A test that fails half-way must not leave a stopped worker to the next.
  afterEach(() => worker()?.kill('SIGCONT'));

  const [baseUrl, worker] = [() => service.baseUrls[0] ?? '', () => service.workers[0]];
  const idOf = ({ headers }: Answer) => String(headers['x-request-id']);
  const untilIdle = () =>
    until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: soonMsMax,
      what: 'every material to be idle',
    });
  const addOneSurely = (idempotencyKey: string) =>
    until(
      async () => {
        const answer = await addOne(baseUrl(), shop, { idempotencyKey });
        return answer.status === 200 ? answer : undefined;
      },
      { deadlineMs: soonMsMax, what: `${idempotencyKey} to be executed` },
    );
  /** Ends the API that was started last. */
  const end = async (api: Proc) => {
    service.apis.pop();
    service.baseUrls.pop();
    api.kill('SIGTERM');
    await api.exited;
  };
  /** Holds the material's row as any other session might, while `work` runs. */
  const whileLocked = (work: () => Promise<void>) =>
    database.transaction(async (transaction) => {
      await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ? FOR UPDATE', [shop.shopId]);
      await work();
    });

  it('cancels what no worker came to: 503, and it is never applied, even when its job turns up later', async () => {
    // A material each, so that each is a job of its own: on one material, later ones would wait in the API process.
    const many = await createTestShop(database, { materials: 3 });
    await holdWorkers(service, harness.redis);
    const answers = await Promise.all(many.materialIds.map((materialId) => addOne(baseUrl(), many, { materialId })));
    expect(answers.map(({ status }) => status)).to.deep.equal([503, 503, 503]);
    for (const answer of answers) {
      expect(answer.headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect(await recordOf(database, idOf(answer))).to.equal('cancelled');
    }
    for (const materialId of many.materialIds)
      expect(await harness.jobs({ ...many, materialId }, 'wait')).to.have.length(1);
    worker()?.kill('SIGCONT');
    await untilIdle();
    for (const materialId of many.materialIds) expect(await totalOf(database, many, materialId)).to.equal(0);
  });

  it('is bounded for requests that queue up behind others on the material', async () => {
    await holdWorkers(service, harness.redis);
    const first = addOne(baseUrl(), shop);
    await until(async () => (await pipelineKeys(service.redisUrl)).length > 0, {
      deadlineMs: soonMsMax,
      what: 'the first to be queued',
    });
    // These wait in the API process, behind the first one's job, and never leave it.
    const answers = await Promise.all([first, ...[1, 2, 3].map(() => addOne(baseUrl(), shop))]);
    worker()?.kill('SIGCONT');
    expect(answers.map(({ status }) => status)).to.deep.equal([503, 503, 503, 503]);
    await untilIdle();
    expect(await totalOf(database, shop)).to.equal(0);
  });

  it('runs the same key afresh after such a 503', async () => {
    await holdWorkers(service, harness.redis);
    const refused = await addOne(baseUrl(), shop, { idempotencyKey: 'cancelled' });
    worker()?.kill('SIGCONT');
    expect(refused.status).to.equal(503);
    const answer = await addOneSurely('cancelled');
    expect(answer.headers['idempotency-replayed']).to.equal(undefined);
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('is 504 where a session holds the material beyond it, and the key settles what became of it', async () => {
    let open: Answer | undefined;
    await whileLocked(async () => {
      open = await addOne(baseUrl(), shop, { idempotencyKey: 'held' });
    });
    expect(open?.status).to.equal(504);
    expect(open?.body).to.have.nested.property('error.code', 'OUTCOME_UNKNOWN');
    await addOneSurely('held');
    await untilIdle();
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('leaves a 504 without a key open: here it is applied once the lock is gone', async () => {
    let open: Answer | undefined;
    await whileLocked(async () => {
      open = await addOne(baseUrl(), shop);
    });
    expect(open?.status).to.equal(504);
    await untilIdle();
    expect(await recordOf(database, idOf(open as Answer))).to.equal('executed');
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('is not past for a process that stood still over it: what was applied meanwhile is answered', async () => {
    // It stops itself once the change is queued: whoever stopped it from here might come when the wait is over.
    const standing = await service.startApi({ FAIL_POINTS: 'after-add=stop:1' });
    await untilServing(service);
    await holdWorkers(service, harness.redis);
    const sentMs = performance.now();
    const asked = addOne(standing.baseUrl ?? '', shop);
    await standing.fired('after-add');
    worker()?.kill('SIGCONT');
    await until(async () => (await totalOf(database, shop)) === 1, { deadlineMs: soonMsMax, what: 'it to be applied' });
    // Past the wait and its grace, so that the process finds both over at once.
    await until(() => performance.now() - sentMs > waitMs + 2 * graceMs, { deadlineMs: soonMsMax, what: 'the grace' });
    await standing.goOn();
    expect((await asked).status).to.equal(200);
    await end(standing);
  });

  it('keeps no lock of a process that stands still in the middle of a cancellation', async () => {
    const standing = await service.startApi({ FAIL_POINTS: 'after-cancellation-lock=stop:1' });
    await untilServing(service);
    await holdWorkers(service, harness.redis);
    const asked = addOne(standing.baseUrl ?? '', shop);
    await standing.fired('after-cancellation-lock');
    // Asks Postgres: trying the lock would take it for a moment, and the cancellation would pass the material over.
    const isHeld = async () => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'raw-materials-api' AND state = 'idle in transaction'`;
      return (await database.raw<{ rows: unknown[] }>(sql)).rows.length > 0;
    };
    await until(async () => !(await isHeld()), { deadlineMs: soonMsMax, what: 'Postgres to end its transaction' });
    await standing.goOn();
    worker()?.kill('SIGCONT');
    const answer = await asked;
    // Either the worker or the cancellation may be first; whichever was decides the answer.
    await untilIdle();
    const record = await recordOf(database, idOf(answer));
    expect(record).to.be.oneOf(['executed', 'cancelled']);
    if (answer.status !== 504) expect(answer.status).to.equal(record === 'executed' ? 200 : 503);
    expect(await totalOf(database, shop)).to.equal(record === 'executed' ? 1 : 0);
    await end(standing);
  });

  it('does not hold up other materials while a session holds one', async () => {
    // One of them may take longer than the wait of the other tests, if a worker stood still: so the sum is bounded.
    const patient = await service.startApi({ WAIT_MS: '20000', SHUTDOWN_TIMEOUT_MS: '23000' });
    const patientUrl = patient.baseUrl ?? '';
    await untilServing(service);
    const second = await createTestShop(database);
    const changes = 5;
    let held: Promise<Answer> | undefined;
    await whileLocked(async () => {
      held = addOne(patientUrl, shop);
      const passedMs = startOwnTime();
      for (let count = 1; count <= changes; count += 1) {
        expect((await addOne(patientUrl, second)).status).to.equal(200);
      }
      expect(passedMs(), 'ms for all of them').to.be.below(changes * waitMs);
    });
    expect((await held)?.status).to.equal(200);
    expect(await totalOf(database, second)).to.equal(changes);
    await end(patient);
  });

  it('cancels also what stands behind a thousand others that cannot be cancelled', async () => {
    // No more jobs of one shop beside others would leave the API process.
    const materials = jobsSentSharedMax;
    const many: TestShop[] = [];
    while (many.length * materials < 1_050) many.push(await createTestShop(database, { materials }));
    const last = await createTestShop(database);
    await holdWorkers(service, harness.redis);
    await database.transaction(async (transaction) => {
      const shopIds = many.map(({ shopId }) => shopId);
      await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ANY (?) FOR UPDATE', [shopIds]);
      const held = many.flatMap((each) =>
        each.materialIds.map((materialId) => addOne(baseUrl(), each, { materialId })),
      );
      expect((await addOne(baseUrl(), last)).status).to.equal(503);
      for (const answer of await Promise.all(held)) {
        // Where sending them takes seconds, some are refused before they are queued. None is cancelled, since its
        // material is held.
        if (answer.status === 503) expect(await recordOf(database, idOf(answer)), answer.text).to.equal(undefined);
        else expect(answer.status).to.equal(504);
      }
    });
    worker()?.kill('SIGCONT');
    await untilIdle();
    expect(await totalOf(database, last)).to.equal(0);
  });

  it('does not count the deliveries of a job whose material another session holds', async () => {
    const ref = { ...shop, materialId: shop.materialIds[0] ?? '' };
    await whileLocked(async () => {
      const held = addOne(baseUrl(), shop);
      const [jobId = ''] = await until(
        async () => {
          const jobs = [...(await harness.jobs(ref, 'wait')), ...(await harness.jobs(ref, 'active'))];
          return jobs.length > 0 ? jobs : undefined;
        },
        { deadlineMs: soonMsMax, what: 'the job' },
      );
      await held;
      // The wait of a second and its grace are enough for several attempts on the locked material.
      const deliveries = await until(
        async () => {
          if ((await harness.jobs(ref, 'wait')).length === 0) return undefined;
          return Number((await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${jobId}`, 'ats')) ?? 0);
        },
        { deadlineMs: soonMsMax, what: 'the job to be given back' },
      );
      expect(deliveries).to.be.at.most(1);
    });
    await untilIdle();
  });
});
