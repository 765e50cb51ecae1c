import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../shared/database/connect.js';
import { toMicros } from '../../shared/domain/quantity.js';
import type { MaterialRef, Operation } from '../../shared/domain/operation.js';
import { operationsJob } from '../../shared/queue/job-format.js';
import type { OperationsJob } from '../../shared/queue/job-format.js';
import { queueName, queuePrefix } from '../../shared/queue/names.js';
import { addOne, adjust, recordOf, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { freezeWorkers, holdWorkers } from '../support/processes/hold-workers.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 10_000;
const tenMinutesMs = 600_000;

describe('an operation that cannot be applied', () => {
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  let shop: TestShop;
  before(async () => {
    service = await startService({ apis: 1, workers: 1 });
    database = connectForTest(service.databaseUrl, { poolMax: 4 });
    harness = await openQueueHarness(service.redisUrl);
    // A fault of ours that only one request meets: Postgres refuses its row of the ledger.
    await database.raw(`
      CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'poison'; END $$;
      CREATE TRIGGER poison BEFORE INSERT ON ledger
        FOR EACH ROW WHEN (NEW.reason = 'poison') EXECUTE FUNCTION refuse_poison();`);
  });
  after(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
  });
  beforeEach(async () => (shop = await createTestShop(database)));

  const baseUrl = () => service.baseUrls[0] ?? '';
  const refOf = ({ shopId, materialIds }: TestShop) => ({ shopId, materialId: materialIds[0] ?? '' });
  const ref = () => refOf(shop);
  const untilIdle = () =>
    until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: soonMsMax,
      what: 'every material to be idle',
    });
  /** Stops the worker while these are sent, so that it meets them all at once. */
  const together = async <T>(send: () => Promise<T>[], refs = [ref()]): Promise<T[]> => {
    await holdWorkers(service, harness.redis);
    const sent = send();
    const isQueued = async (each: MaterialRef) => (await harness.jobs(each, 'wait')).length > 0;
    await until(async () => (await Promise.all(refs.map(isQueued))).every(Boolean), {
      deadlineMs: soonMsMax,
      what: 'the jobs',
    });
    service.workers[0]?.kill('SIGCONT');
    return Promise.all(sent);
  };
  const add = (units: number, more: Partial<Operation> = {}) =>
    operationOf({ kind: 'adjust', rows: [{ locationId: '1001', delta: toMicros(units) }] }, more);
  const recorded = (id: string) =>
    until(() => recordOf(database, id), { deadlineMs: soonMsMax, what: `operation ${id} to be on record` });

  it('is answered 500, leaves its neighbours alone, and is not remembered for its key', async () => {
    const [locationId = ''] = shop.locationIds;
    const poison = () =>
      adjust(baseUrl(), shop, [{ locationId, delta: 100, reason: 'poison' }], { idempotencyKey: 'poison' });
    const answers = await together(() => [
      addOne(baseUrl(), shop),
      poison(),
      addOne(baseUrl(), shop),
      addOne(baseUrl(), shop),
    ]);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 500, 200, 200]);
    const [, failed] = answers;
    expect(failed?.body).to.have.nested.property('error.code', 'INTERNAL_ERROR');
    expect(failed?.text).to.not.match(/poison|ledger|trigger/);
    expect(await recordOf(database, String(failed?.headers['x-request-id']))).to.equal('failed');
    expect(await totalOf(database, shop)).to.equal(3);

    const again = await poison();
    expect([again.status, again.headers['idempotency-replayed']]).to.deep.equal([500, undefined]);
    await database.raw('ALTER TABLE ledger DISABLE TRIGGER poison');
    try {
      const mended = await poison();
      expect([mended.status, mended.headers['idempotency-replayed']]).to.deep.equal([200, undefined]);
      expect(await totalOf(database, shop)).to.equal(103);
    } finally {
      await database.raw('ALTER TABLE ledger ENABLE TRIGGER poison');
    }
    await untilIdle();
  });

  it('of one material leaves those of others in the same cycle alone', async () => {
    const second = await createTestShop(database);
    const [locationId = ''] = shop.locationIds;
    const poison = () => adjust(baseUrl(), shop, [{ locationId, delta: 100, reason: 'poison' }]);
    const [poisoned, other] = await together(() => [poison(), addOne(baseUrl(), second)], [ref(), refOf(second)]);
    expect([poisoned?.status, other?.status]).to.deep.equal([500, 200]);
    expect([await totalOf(database, shop), await totalOf(database, second)]).to.deep.equal([0, 1]);
    await untilIdle();
  });

  it('since its job has a version that this worker does not know is recorded as failed, and not applied', async () => {
    const operation = add(1);
    await harness.add(ref(), { job: { ...operationsJob('gone', [operation]), version: 99 } });
    expect(await recorded(operation.id)).to.equal('failed');
    expect(await totalOf(database, shop)).to.equal(0);
    await untilIdle();
  });

  it('and cannot even be recorded as failed leaves its neighbours alone, and is recorded once that works', async () => {
    const operation = add(1);
    const second = await createTestShop(database);
    await database.raw(`
      CREATE TRIGGER poison BEFORE INSERT ON operations
        FOR EACH ROW WHEN (NEW.status = 'failed') EXECUTE FUNCTION refuse_poison();`);
    try {
      const deliver = () => harness.add(ref(), { job: { ...operationsJob('gone', [operation]), version: 99 } });
      const send = () => {
        void deliver();
        return [addOne(baseUrl(), second)];
      };
      const [neighbour] = await together(send, [ref(), refOf(second)]);
      expect(neighbour?.status).to.equal(200);
      expect(await recordOf(database, operation.id)).to.equal(undefined);
    } finally {
      await database.raw('DROP TRIGGER poison ON operations');
    }
    expect(await recorded(operation.id)).to.equal('failed');
    await untilIdle();
  });

  it('since it repeated one whose record is gone is not applied when its job comes again, nor holds up others', async () => {
    const first = await addOne(baseUrl(), shop, { idempotencyKey: 'again' });
    const repeat = await addOne(baseUrl(), shop, { idempotencyKey: 'again' });
    expect(repeat.headers['idempotency-replayed']).to.equal('true');
    await untilIdle();
    // As if two days had passed, and a kept file of Redis still held the job of the repeat.
    await database.raw('DELETE FROM operations WHERE op_id = ?', [String(first.headers['x-request-id'])]);
    const second = await createTestShop(database);
    const [neighbour] = await together(() => {
      void harness.add(ref(), { operations: [add(1, { id: String(repeat.headers['x-request-id']) })] });
      return [addOne(baseUrl(), second)];
    });
    expect(neighbour?.status).to.equal(200);
    await untilIdle();
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('since it was accepted ten minutes ago is not applied, on whichever side of now', async () => {
    const [late, early] = [-tenMinutesMs - 1_000, tenMinutesMs + 60_000].map((offsetMs) =>
      add(1, { acceptedAtMs: Date.now() + offsetMs }),
    );
    const fresh = add(1, { acceptedAtMs: Date.now() - tenMinutesMs + 30_000 });
    const operations = [late, early, fresh].flatMap((operation) => operation ?? []);
    await harness.add(ref(), { operations });
    const outcomes = await Promise.all(operations.map(({ id }) => recorded(id)));
    expect(outcomes).to.deep.equal(['expired', 'expired', 'executed']);
    expect(await totalOf(database, shop)).to.equal(1);
    // The record stands: the same job, however often it turns up again, changes nothing.
    await harness.add(ref(), { operations });
    await untilIdle();
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('since it expired while its worker stood still with it is not applied', async () => {
    const [standing] = service.workers.splice(0);
    const worker = await service.startWorker({ FAIL_POINTS: 'after-take=stop:1' });
    standing?.kill('SIGTERM');
    await standing?.exited;
    const acceptedAtMs = Date.now() - tenMinutesMs + 2_000;
    const operation = add(1, { acceptedAtMs });
    await harness.add(ref(), { operations: [operation] });
    await worker.fired('after-take');
    await until(() => Date.now() > acceptedAtMs + tenMinutesMs, {
      deadlineMs: soonMsMax,
      what: 'ten minutes to be over',
    });
    await worker.goOn();
    expect(await recorded(operation.id)).to.equal('expired');
    expect(await totalOf(database, shop)).to.equal(0);
    await untilIdle();
  });

  it('since its job was handed out too often is recorded as failed; what it did before stands', async () => {
    const [first, second] = [add(1), add(1)];
    await harness.add(ref(), { operations: [first] });
    expect(await recorded(first.id)).to.equal('executed');
    const id = randomUUID();
    await freezeWorkers(service, service.workers);
    await harness.add(ref(), { id, operations: [first, second], isAnnounced: false });
    await harness.redis.hset(`${queuePrefix}:${queueName(ref())}:${id}`, 'ats', 1_000);
    await harness.announce(ref());
    service.workers[0]?.kill('SIGCONT');
    expect(await recorded(second.id)).to.equal('failed');
    expect(await recordOf(database, first.id)).to.equal('executed');
    await untilIdle();
    expect(await totalOf(database, shop)).to.equal(1);
  });

  for (const [what, data] of [
    ['is not JSON', '{"version":1,'],
    ['is not ours', '{"hello":"world"}'],
    ['is null', 'null'],
    [
      'holds operations without a command',
      JSON.stringify({ version: 1, replyTo: 'x', operations: [{ id: uuidv7() }] }),
    ],
    [
      'holds rows that are none',
      JSON.stringify(
        operationsJob('x', [{ ...operationOf({ kind: 'adjust', rows: [] }), command: { kind: 'adjust' } as never }]),
      ),
    ],
  ] as const) {
    it(`since the data of its job ${what} does not hold up the jobs behind it`, async () => {
      const id = randomUUID();
      const next = add(1);
      await harness.add(ref(), { id, job: {} as OperationsJob, isAnnounced: false });
      await harness.redis.hset(`${queuePrefix}:${queueName(ref())}:${id}`, 'data', data);
      await harness.add(ref(), { operations: [next] });
      expect(await recorded(next.id)).to.equal('executed');
      await untilIdle();
      expect(await totalOf(database, shop)).to.equal(1);
    });
  }

  it('since its job lost its data does not hold up the jobs behind it', async () => {
    const next = add(1);
    await harness.redis.lpush(`${queuePrefix}:${queueName(ref())}:wait`, randomUUID());
    await harness.add(ref(), { operations: [next] });
    expect(await recorded(next.id)).to.equal('executed');
    await untilIdle();
  });

  it('for a fault of our code that passes is applied after all', async () => {
    const worker = await service.startWorker({ FAIL_POINTS: 'mid-fold!sync=throw:2' });
    service.workers[0]?.kill('SIGTERM');
    await service.workers[0]?.exited;
    service.workers.shift();
    const second = await createTestShop(database);
    const answers = await Promise.all([shop, second, shop, second, shop].map((each) => addOne(baseUrl(), each)));
    await worker.fired('mid-fold!sync');
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
    expect([await totalOf(database, shop), await totalOf(database, second)]).to.deep.equal([3, 2]);
  });
});
