import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/change.js';
import { connectForTest, startFaultRun, untilServing } from '../support/fault-run.js';
import type { FaultRun } from '../support/fault-run.js';
import { request } from '../support/http.js';
import { migrateTestDatabase, startTestPostgres } from '../support/servers.js';
import type { TestServer } from '../support/servers.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { createTestShop } from '../support/shop.js';

describe('T6: Postgres killed with −9, and its sessions', () => {
  let postgres: TestServer;
  let service: Service;
  let database: Database;
  before(async () => {
    postgres = await startTestPostgres();
    const { url } = await migrateTestDatabase(postgres);
    service = await startService({ apis: 2, workers: 2, databaseUrl: url, apiEnv: { WAIT_MS: '4000' } });
    database = connectForTest(url);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
    await postgres.stop();
  });

  const terminateSessions = async (of: string) => {
    const { rows } = await database.raw<{ rows: unknown[] }>(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ? AND datname = current_database()',
      [of],
    );
    return rows.length;
  };
  const expectAlive = () => {
    expect([...service.apis, ...service.workers].filter((each) => each.hasExited())).to.deep.equal([]);
  };

  it('under load: nothing acknowledged is lost, nothing is applied twice, and all goes on by itself', async () => {
    const run: FaultRun = await startFaultRun({ title: 'T6', service, database });
    await run.progress(200);
    for (let round = 0; round < 6; round += 1) {
      expect(await terminateSessions('raw-materials-worker')).to.be.greaterThan(0);
      if (round % 2 === 0) await terminateSessions('raw-materials-api');
      await run.progress(20 + run.dice.below(60));
    }
    for (let kill = 0; kill < 2; kill += 1) {
      await postgres.kill();
      await postgres.restart();
      await run.progress(50 + run.dice.below(50));
    }
    await run.judge();
    expectAlive();
  });

  for (const place of ['before-commit', 'at-commit']) {
    it(`a session that is terminated ${place.replace('-', ' ')} leaves the change applied once`, async () => {
      const shop = await createTestShop(database);
      const standing = [...service.workers];
      const slow = await service.startWorker({ FAIL_POINTS: `${place}=delay:300` });
      for (const worker of standing) worker.kill('SIGSTOP');
      const asked = addOne(service.baseUrls[0] ?? '', shop, { idempotencyKey: place });
      await slow.fired(place);
      await terminateSessions('raw-materials-worker');
      for (const worker of standing) worker.kill('SIGCONT');
      expect((await asked).status).to.equal(200);
      expect(await totalOf(database, shop)).to.equal(1);
      slow.kill('SIGTERM');
      await slow.exited;
      service.workers.splice(service.workers.indexOf(slow), 1);
    });
  }

  it('away: every request is answered 503 or 504, and all are healthy again by themselves', async () => {
    const shop = await createTestShop(database);
    expect((await addOne(service.baseUrls[0] ?? '', shop)).status).to.equal(200);
    await postgres.kill();
    // Some of these are queued before the API knows; their answer is theirs by the rule of the contract.
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        addOne(service.baseUrls[index % 2] ?? '', shop, { idempotencyKey: `away-${String(index)}` }),
      ),
    );
    for (const { status } of answers) expect(status).to.be.oneOf([503, 504]);
    for (const baseUrl of service.baseUrls) {
      expect((await addOne(baseUrl, shop)).status).to.equal(503);
      expect((await request(baseUrl, { path: '/v1/raw-materials', key: shop.readKey })).status).to.equal(503);
      expect((await request(baseUrl, { path: '/healthz' })).status).to.equal(200);
    }
    await postgres.restart();
    await untilServing(service);
    const settled = await Promise.all(
      answers.map((_, index) =>
        addOne(service.baseUrls[index % 2] ?? '', shop, { idempotencyKey: `away-${String(index)}` }),
      ),
    );
    for (const { status } of settled) expect(status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(21);
    expectAlive();
  });
});
