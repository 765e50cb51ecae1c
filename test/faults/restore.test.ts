import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { readDatabaseIdentity } from '../../shared/database/database-identity.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import type { Operation } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import type { OperationsJob } from '../../shared/queue/job-format.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { backUpDatabase, backUpRedis } from '../support/database/back-up.js';
import type { BackUp } from '../support/database/back-up.js';
import { addOne, recordOf, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import type { QueueHarness } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { askUnrefused, watchCpu } from '../support/http/refusals.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const materials = 4;
const soonMsMax = 20_000;
/** A day more than operations stay on record. */
const longAgoMs = 72 * 3_600_000;

describe('a store that was restored to an earlier moment', () => {
  let redis: TestRedis;
  let service: Service;
  let database: Database;
  let harness: QueueHarness;
  let shop: TestShop;
  let backUp: BackUp | undefined;

  beforeEach(async () => {
    redis = await startTestRedis();
    service = await startService({ redisUrl: redis.url });
    database = connectForTest(service.databaseUrl);
    shop = await createTestShop(database, { materials });
    harness = await openQueueHarness(redis.url);
  });
  afterEach(async () => {
    harness.close();
    await database.destroy();
    await service.stop();
    await backUp?.remove();
    await redis.stop();
  });

  const baseUrl = () => service.baseUrls.at(-1) ?? '';
  const refOf = (materialId: string) => ({ shopId: shop.shopId, materialId });
  const waiting = (materialId: string) => harness.jobs(refOf(materialId), 'wait');
  const totals = () => Promise.all(shop.materialIds.map((materialId) => totalOf(database, shop, materialId)));
  const plusOne = () =>
    operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(1) }] });
  const deliver = (materialId: string, operation: Operation) =>
    harness.add(refOf(materialId), { operations: [operation] });
  const killAll = async () => {
    for (const each of [...service.apis, ...service.workers]) each.kill('SIGKILL');
    await Promise.all([...service.apis, ...service.workers].map(({ exited }) => exited));
    service.apis.splice(0);
    service.workers.splice(0);
    service.baseUrls.splice(0);
  };
  const untilIdle = () =>
    until(async () => (await pipelineKeys(redis.url)).length === 0, {
      deadlineMs: soonMsMax,
      what: 'every job to be done with',
    });
  /** A restored database is another one: whoever was killed counts as alive, and shuts its workers out, for a while. */
  const untilItsWorkersAreListed = async () => {
    const own = await readDatabaseIdentity(database);
    await until(async () => (await harness.redis.zrange(keys.databases, '0', '-1')).join() === own, {
      deadlineMs: soonMsMax,
      what: 'the workers to say that they write to the restored database',
    });
  };
  const expectSound = async () => {
    expect(await checkLedger(database)).to.deep.include({ mismatchCount: 0, mismatches: [] });
    await untilItsWorkersAreListed();
    await untilServing(service);
    // An API that has heard of a late backlog refuses for that reason alone, until it hears that there is none.
    const isTaken = async () => {
      const { status, text } = await askUnrefused(() => addOne(baseUrl(), shop));
      expect(status === 200 || (status === 503 && text.includes('backlog')), text).to.equal(true);
      return status === 200;
    };
    await until(isTaken, { deadlineMs: soonMsMax, what: 'the backlog to be forgotten' });
    for (const materialId of [...shop.materialIds, ...shop.materialIds]) {
      const answer = await askUnrefused(() => addOne(baseUrl(), shop, { materialId }));
      expect(answer.status, answer.text).to.equal(200);
    }
  };

  /** A change that no worker comes to. Without CPU it may not be cancelled in time: then the next material is tried. */
  const cancelled = async () => {
    for (const materialId of shop.materialIds) {
      const hadCpu = watchCpu();
      const refused = await addOne(baseUrl(), shop, { materialId });
      if (refused.status !== 504 || hadCpu()) return { refused, materialId };
    }
    throw new Error('No change could be cancelled in time.');
  };

  describe('Postgres, beside newer jobs in Redis', () => {
    it('beneath running processes: what waits is applied once, and all goes on by itself', async () => {
      for (const materialId of shop.materialIds) await addOne(baseUrl(), shop, { materialId });
      backUp = await backUpDatabase(service.databaseUrl);
      await untilServing(service);
      // Answered with 200 after the backup: this is what a restore loses.
      for (const materialId of shop.materialIds) {
        await until(async () => (await addOne(baseUrl(), shop, { materialId })).status === 200, {
          deadlineMs: soonMsMax,
          what: 'a change after the backup',
        });
      }
      const [worker] = service.workers;
      await freezeWorkers(service, service.workers);
      const change = (materialId: string) => addOne(baseUrl(), shop, { materialId, idempotencyKey: materialId });
      const asked = shop.materialIds.map(change);
      await until(async () => (await Promise.all(shop.materialIds.map(waiting))).every(({ length }) => length === 1), {
        deadlineMs: soonMsMax,
        what: 'a job of each material in Redis',
      });
      await backUp.restore();
      worker?.kill('SIGCONT');
      for (const { status } of await Promise.all(asked)) expect(status).to.be.oneOf([200, 503, 504]);
      for (const materialId of shop.materialIds) {
        await until(async () => (await change(materialId)).status === 200, {
          deadlineMs: soonMsMax,
          what: 'the change that waited to be settled',
        });
      }
      await untilIdle();
      expect(await totals()).to.deep.equal(shop.materialIds.map(() => 2));
      await expectSound();
    });

    it('applies nothing twice, whether its record was restored with it or not', async () => {
      const [recorded = '', unrecorded = ''] = shop.materialIds;
      const [early, late] = [plusOne(), plusOne()];
      await deliver(recorded, early);
      await untilIdle();
      backUp = await backUpDatabase(service.databaseUrl);
      await untilServing(service);
      await deliver(unrecorded, late);
      await untilIdle();
      expect([await totalOf(database, shop, recorded), await totalOf(database, shop, unrecorded)]).to.deep.equal([
        1, 1,
      ]);
      await killAll();
      await backUp.restore();
      expect(await recordOf(database, late.id)).to.equal(undefined);
      // As left behind by workers that die between their COMMIT and the end of the job.
      for (let time = 0; time < 2; time += 1) {
        await deliver(recorded, early);
        await deliver(unrecorded, late);
      }
      await Promise.all([service.startApi(), service.startWorker()]);
      await untilIdle();
      expect([await totalOf(database, shop, recorded), await totalOf(database, shop, unrecorded)]).to.deep.equal([
        1, 1,
      ]);
      // The totals do not show it: an operation that only the ledger keeps out is recorded as failed.
      for (const { id } of [early, late]) expect(await recordOf(database, id)).to.equal('executed');
      await expectSound();
    });

    it('and with Redis emptied, as the procedure says: a change that was answered 503 stays unapplied', async () => {
      backUp = await backUpDatabase(service.databaseUrl);
      await service.startApi({ WAIT_MS: '1000' });
      await untilServing(service);
      await freezeWorkers(service, service.workers);
      const { refused, materialId } = await cancelled();
      expect(refused.status).to.equal(503);
      expect(await recordOf(database, String(refused.headers['x-request-id']))).to.equal('cancelled');
      expect(await waiting(materialId), 'jobs that nobody took out of Redis').to.have.length(1);
      await killAll();
      await backUp.restore();
      await redis.flush();
      await Promise.all([service.startApi(), service.startWorker()]);
      await untilIdle();
      expect(await totalOf(database, shop, materialId)).to.equal(0);
      await expectSound();
    });
  });

  describe('Redis, from an old append-only file', () => {
    it('applies nothing again that is on record, and nothing whose record has been pruned since', async () => {
      const operations = shop.materialIds.map(plusOne);
      for (const worker of service.workers.splice(0)) {
        worker.kill('SIGTERM');
        await worker.exited;
      }
      for (const [index, materialId] of shop.materialIds.entries()) await deliver(materialId, operations[index]!);
      backUp = await backUpRedis(redis);
      const worker = await service.startWorker();
      await untilIdle();
      expect(await totals()).to.deep.equal(shop.materialIds.map(() => 1));
      worker.kill('SIGKILL');
      await worker.exited;
      service.workers.splice(0);

      harness.close();
      await backUp.restore();
      harness = await openQueueHarness(redis.url);
      for (const materialId of shop.materialIds) expect(await waiting(materialId)).to.have.length(1);
      const [prunedId = ''] = shop.materialIds;
      const [pruned] = operations;
      await database.raw('DELETE FROM operations WHERE op_id = ?', [pruned?.id ?? '']);
      await makeOld(prunedId);
      await service.startWorker();
      await untilIdle();
      expect(await totals()).to.deep.equal(shop.materialIds.map(() => 1));
      expect(await recordOf(database, pruned?.id ?? '')).to.equal('expired');
      await expectSound();
    });

    it('applies once what was never executed, as long as it has not expired', async () => {
      const [materialId = '', expiredId = ''] = shop.materialIds;
      for (const worker of service.workers.splice(0)) {
        worker.kill('SIGTERM');
        await worker.exited;
      }
      await deliver(materialId, plusOne());
      await deliver(expiredId, plusOne());
      backUp = await backUpRedis(redis);
      await redis.flush();
      harness.close();
      await backUp.restore();
      harness = await openQueueHarness(redis.url);
      await makeOld(expiredId);
      await service.startWorker();
      await untilIdle();
      expect([await totalOf(database, shop, materialId), await totalOf(database, shop, expiredId)]).to.deep.equal([
        1, 0,
      ]);
      await expectSound();
    });
  });

  /** As if days had passed since the operations of its only job were accepted. */
  async function makeOld(materialId: string): Promise<void> {
    const [jobId = ''] = await waiting(materialId);
    const key = `${queuePrefix}:${queueName(refOf(materialId))}:${jobId}`;
    const job = JSON.parse((await harness.redis.hget(key, 'data')) ?? '') as OperationsJob;
    for (const operation of job.operations) operation.acceptedAtMs -= longAgoMs;
    await harness.redis.hset(key, 'data', JSON.stringify(job));
  }
});
