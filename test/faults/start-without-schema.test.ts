import { expect } from 'chai';
import { Redis } from 'ioredis';
import { mintKey } from '../../shared/keys/api-key-format.js';
import { keys } from '../../shared/queue/names.js';
import { request } from '../support/http/http.js';
import { runMigrate } from '../support/processes/run-migrate.js';
import { createEmptyDatabase, startTestRedis } from '../support/processes/servers.js';
import type { TestDatabase, TestRedis } from '../support/processes/servers.js';
import { startProcess, stopProcess } from '../support/processes/service-process.js';
import { startService } from '../support/processes/service.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { createTestShop } from '../support/shop/shop.js';
import { connectForTest } from '../support/database/database.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;

describe('a service that is started before its database is migrated', () => {
  let redis: TestRedis;
  let list: Redis;
  let database: TestDatabase;
  before(async () => {
    redis = await startTestRedis();
    list = new Redis(redis.url);
    database = await createEmptyDatabase();
  });
  after(async () => {
    await database.drop();
    list.disconnect();
    await redis.stop();
  });

  it('is not ready, and its log says what to do, until somebody migrates', async () => {
    const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, PORT: '0' };
    const [api, worker] = await Promise.all([startProcess('api', env), startProcess('worker', env)]);
    const readiness = () => request(api.baseUrl ?? '', { path: '/readyz' });
    const said = async () => (await readiness()).text;
    // On the list: after some seconds without a schema it tells that it is of no use, and does not count any more.
    const isListed = async () => (await list.zcard(keys.workers)) === 1;
    await until(isListed, { deadlineMs: soonMsMax, what: 'the worker' });
    expect((await readiness()).status, 'a balancer would send it requests').to.equal(503);
    expect(await said()).to.contain('Postgres does not answer, takes no writes, or is not migrated');
    // Each asks Postgres for it beside its start, and is ready before the answer.
    const whatToDo = /The database lacks \d+ migrations of this version, 0001\S+ first\. Run: npm /;
    for (const process of [api, worker]) {
      await until(() => whatToDo.test(process.logs().join('\n')), {
        deadlineMs: soonMsMax,
        what: () => `${process.name} to say what to do; it said:\n${process.logs().join('\n')}`,
      });
    }
    const { key } = mintKey();
    const { status, text } = await request(api.baseUrl ?? '', { path: '/v1/raw-materials', key });
    expect(status, text).to.equal(503);

    expect(await runMigrate(database.url)).to.deep.include({ code: 0, stderr: '' });
    await until(async () => (await readiness()).status === 200, { deadlineMs: soonMsMax, what: 'it to be ready' });
    await Promise.all([stopProcess(api), stopProcess(worker)]);
  });

  it('leaves what an API of the version before has queued to a worker that waits for the schema, and fails nothing', async () => {
    const service = await startService({ workers: 1, apiEnv: { WAIT_MS: '30000', SHUTDOWN_TIMEOUT_MS: '60000' } });
    const client = connectForTest(service.databaseUrl);
    const shop = await createTestShop(client, { materials: 1 });
    const workersBefore = service.workers.splice(0);
    // To the API its schema is whole; to a worker of the next version it is not yet.
    const { rows: missing } = await client.raw<{ rows: object[] }>(
      'DELETE FROM knex_migrations WHERE id = (SELECT max(id) FROM knex_migrations) RETURNING *',
    );
    await client.raw('ALTER TABLE ledger RENAME COLUMN reason TO reason_to_come');
    const worker = await service.startWorker();
    // In this order, as in a rolling update, the API has seen a worker within its second and a half all the time.
    await Promise.all(workersBefore.map(stopProcess));
    const waiting = addOne(service.baseUrls[0] ?? '', shop, { deadlineMs: 60_000 });
    const isTold = () => /The database lacks a migration.*Nothing is taken until/.test(worker.logs().join('\n'));
    await until(isTold, { deadlineMs: soonMsMax, what: 'the worker to say what it waits for' });
    await client.raw('ALTER TABLE ledger RENAME COLUMN reason_to_come TO reason');
    await client('knex_migrations').insert(missing);
    expect(await waiting).to.include({ status: 200 });
    expect(await totalOf(client, shop)).to.equal(1);
    await client.destroy();
    await service.stop();
  });
});
