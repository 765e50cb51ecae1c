import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../shared/database/connect.js';
import { addOne } from '../support/shop/change.js';
import { scrape } from '../support/metrics/exposition.js';
import { freezeWorkers, whileHeld } from '../support/processes/hold-workers.js';
import { request } from '../support/http/http.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { useService } from '../support/processes/use-service.js';
import { untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;

describe('the metrics without Redis', () => {
  let service: Service;
  let database: Database;
  useService({ env: { ADMIN_PORT: '0' } }, (started) => ({ service, database } = started));

  it('tell of each connection of a worker whether that is the one that does not work', async () => {
    const operator = new Redis(service.redisUrl);
    const end = async (name: string) => {
      const clients = String(await operator.client('LIST')).split('\n');
      const ids = clients.filter((line) => line.includes(` name=${name} `)).map((line) => /^id=(\d+) /.exec(line)?.[1]);
      for (const id of ids) await operator.client('KILL', 'ID', id ?? '');
    };
    try {
      for (const [lost, kept] of [
        ['wake', 'worker'],
        ['worker', 'wake'],
      ] as const) {
        const isTold = async () => {
          // It is there again within a moment.
          await end(`raw-materials-${lost}`);
          const seen = await scrape(service.workers[0]?.adminUrl);
          const [ofLost, ofKept] = [lost, kept].map((connection) =>
            seen.sum('raw_materials_redis_connected', { connection }),
          );
          return ofLost === 0 && ofKept === 1;
        };
        await until(isTold, { deadlineMs: soonMsMax, what: `the worker to miss the connection ${lost}` });
      }
    } finally {
      operator.disconnect();
    }
  });

  it('are there all the same: connections that do not work, limits counted in memory, an unknown backlog', async () => {
    const shop = await createTestShop(database);
    const api = () => scrape(service.apis[0]?.adminUrl);
    const worker = () => scrape(service.workers[0]?.adminUrl);
    expect((await api()).sum('raw_materials_redis_connected')).to.equal(3);
    expect((await worker()).sum('raw_materials_redis_connected')).to.equal(2);
    await service.redis?.kill();
    const path = '/v1/raw-materials';
    await until(async () => (await api()).sum('raw_materials_redis_connected') === 0, {
      deadlineMs: soonMsMax,
      what: 'the API to miss Redis',
    });
    await until(async () => (await worker()).sum('raw_materials_redis_connected') === 0, {
      deadlineMs: soonMsMax,
      what: 'the worker to miss Redis',
    });
    expect((await request(service.baseUrls[0] ?? '', { path, key: shop.readKey })).status).to.equal(200);
    const without = await api();
    expect(without.sum('raw_materials_limiter_insured_total')).to.equal(1);
    expect(without.samples.filter(({ name }) => name === 'raw_materials_backlog_materials')).to.deep.equal([]);
    await service.redis?.restart();
    await until(async () => (await worker()).sum('raw_materials_redis_connected') === 2, {
      deadlineMs: soonMsMax,
      what: 'the worker to have Redis again',
    });
  });
});

describe('the metrics of what is lost and made good', () => {
  let service: Service;
  let database: Database;
  const apiEnv = { WAIT_MS: '60000', SHUTDOWN_TIMEOUT_MS: '70000' };
  useService({ env: { ADMIN_PORT: '0' }, apiEnv }, (started) => ({ service, database } = started));

  // A test that fails half-way must not leave a stopped worker to the next.
  afterEach(() => {
    for (const worker of service.workers) worker.kill('SIGCONT');
  });

  const untilIdle = () =>
    until(async () => (await pipelineKeys(service.redisUrl)).length === 0, { deadlineMs: soonMsMax, what: 'idle' });

  it('count look-ups, and jobs that Redis lost', async () => {
    const shop = await createTestShop(database);
    const api = () => scrape(service.apis[0]?.adminUrl);
    const worker = service.workers[0];
    await freezeWorkers(service, service.workers);
    const lost = addOne(service.baseUrls[0] ?? '', shop);
    await until(async () => (await pipelineKeys(service.redisUrl)).length > 0, {
      deadlineMs: soonMsMax,
      what: 'a job',
    });
    await service.redis?.flush();
    // Looked up, missed, and added again, all within the wait: then somebody comes for it.
    await until(async () => (await api()).sum('raw_materials_jobs_added_again_total') === 1, {
      deadlineMs: soonMsMax,
      what: 'the job to be added again',
    });
    worker?.kill('SIGCONT');
    expect((await lost).status).to.equal(200);
    const seen = await api();
    expect(seen.sum('raw_materials_outcome_lookups_total')).to.be.greaterThan(0);
    expect(seen.sum('raw_materials_operations_cancelled_total')).to.equal(0);
    await untilIdle();
  });

  it('count cancellations, which leave nothing open', async () => {
    const shop = await createTestShop(database);
    const impatient = await service.startApi({ WAIT_MS: '1000' });
    await untilServing(service);
    const { status } = await whileHeld(service, () => addOne(impatient.baseUrl ?? '', shop));
    expect(status).to.equal(503);
    const seen = await scrape(impatient.adminUrl);
    expect(seen.sum('raw_materials_operations_cancelled_total')).to.equal(1);
    expect(seen.sum('raw_materials_operations_open_total')).to.equal(0);
    await untilIdle();
  });

  it('count a lease that ran out under its worker, once it looks', async () => {
    const shop = await createTestShop(database);
    const [other] = service.workers;
    const late = await service.startWorker({ FAIL_POINTS: 'after-commit=stop:1' });
    await freezeWorkers(service, other ? [other] : []);
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await late.fired('after-commit');
    other?.kill('SIGCONT');
    expect((await asked).status).to.equal(200);
    // The other one comes to the job when the lease of this one has run out.
    await untilIdle();
    await late.goOn();
    await until(async () => (await scrape(late.adminUrl)).sum('raw_materials_leases_lost_total') === 1, {
      deadlineMs: soonMsMax,
      what: 'the lost lease to be counted',
    });
  });
});
