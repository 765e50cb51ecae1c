import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import { connectForTest } from '../support/database/database.js';
import type { FaultRun } from '../support/faults/fault-run.js';
import { request } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { migrateTestDatabase, startTestPostgres } from '../support/processes/servers.js';
import type { TestServer } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import type { Proc } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

/** One fault in this many is a kill, the others end the workers' sessions: 200 and 1,000 in the long run. */
const faultsAKill = 6;
/** How long before a COMMIT the slow worker announces it, and how long Postgres takes for one. */
const beforeCommitMs = 5;
const commitDelayMicros = 5_000;
/** A session is ended up to this long after the announcement: before its COMMIT, in the middle of it, right after. */
const aroundCommitMsMax = 12;
const atCommitMsMax = 20_000;
const settledMsMax = 30_000;

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
  // Longer COMMITs, so that a session can be ended inside one; new sessions have them, so all do after a fault.
  before(async () => {
    const name = new URL(service.databaseUrl).pathname.slice(1);
    await database.raw(`ALTER DATABASE ${name} SET commit_delay = ${String(commitDelayMicros)}`);
    await database.raw(`ALTER DATABASE ${name} SET commit_siblings = 0`);
    await terminateSessions('raw-materials-worker');
    await untilServing(service);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
    await postgres.stop();
  });

  /** Returns how many there were, and how many of them were in the middle of a COMMIT. */
  const terminateSessions = async (of: string) => {
    const { rows } = await database.raw<{ rows: { committing: boolean }[] }>(
      `SELECT state = 'active' AND query = 'COMMIT' AS committing, pg_terminate_backend(pid)
       FROM pg_stat_activity WHERE application_name = ? AND datname = current_database()`,
      [of],
    );
    return { ended: rows.length, committing: rows.filter(({ committing }) => committing).length };
  };
  const expectAlive = () => {
    expect([...service.apis, ...service.workers].filter((each) => each.hasExited())).to.deep.equal([]);
  };

  it('under load: nothing acknowledged is lost, nothing is applied twice, and all goes on by itself', async () => {
    const size = sizeOf({ small: 12, long: 1_200 });
    let committing = 0;
    const figures = () => [{ name: 'sessions ended in a COMMIT', value: committing }];
    await runFaultRounds(
      { test: 'T6', unit: 'faults', size, service, database, faultsARound: 30, recoveryMsMax: 15_000, figures },
      async (run) => {
        const slow = await service.startWorker({ FAIL_POINTS: `before-commit=delay:${String(beforeCommitMs)}` });
        while (run.left() > 0) {
          if (run.made() % faultsAKill === faultsAKill - 1) await killPostgres(run);
          else committing += await terminateAtCommit(run, slow);
          run.add();
          await run.recovered();
          await run.progress(run.dice.below(40));
        }
        await stopProcess(slow);
      },
    );
    expectAlive();
  });

  async function killPostgres(run: FaultRun): Promise<void> {
    run.noteFault();
    await postgres.kill();
    await postgres.restart();
  }

  async function terminateAtCommit(run: FaultRun, slow: Proc): Promise<number> {
    const passes = slow.hits().length;
    await until(() => slow.hits().length > passes, {
      deadlineMs: atCommitMsMax,
      what: () => `${slow.name} to commit; it said:\n${slow.logs().slice(-30).join('\n')}`,
    });
    await delay(run.dice.below(aroundCommitMsMax));
    run.noteFault();
    const { ended, committing } = await terminateSessions('raw-materials-worker');
    expect(ended).to.be.greaterThan(0);
    if (run.dice.chance(0.3)) await terminateSessions('raw-materials-api');
    return committing;
  }

  for (const [place, when] of [
    ['before-commit', 'before its COMMIT is sent'],
    ['at-commit!sync', 'before the answer to its COMMIT is read'],
  ] as const) {
    it(`a session that is terminated ${when} leaves the change applied once`, async () => {
      const shop = await createTestShop(database);
      const standing = [...service.workers];
      const slow = await service.startWorker({ FAIL_POINTS: `${place}=stop:1` });
      // The others wait no longer than a lease, after which one of the standing takes what the slow one may still have.
      const patient = await service.startApi({ WAIT_MS: undefined });
      await untilServing(service);
      await freezeWorkers(service, standing);
      const asked = addOne(patient.baseUrl ?? '', shop, { idempotencyKey: place });
      await slow.fired(place);
      const { ended } = await terminateSessions('raw-materials-worker');
      expect(ended).to.be.greaterThan(0);
      for (const worker of standing) worker.kill('SIGCONT');
      await slow.goOn();
      expect((await asked).status).to.equal(200);
      expect(await totalOf(database, shop)).to.equal(1);
      expect(slow.hasExited(), 'the worker that lost its session').to.equal(false);
      await Promise.all([slow, patient].map(stopProcess));
      service.workers.splice(service.workers.indexOf(slow), 1);
      service.apis.pop();
      service.baseUrls.pop();
    });
  }

  it('away: every request is answered 503 or 504, and all are healthy again by themselves', async () => {
    const shop = await createTestShop(database);
    expect((await addOne(service.baseUrls[0] ?? '', shop)).status).to.equal(200);
    await postgres.kill();
    // Some of these are queued before the API knows; the rule of the contract gives them their answer.
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
    // All are ready, but a material that was being worked on waits for its lease, which is as long as a wait here.
    await Promise.all(
      answers.map((_, index) => {
        const again = () =>
          addOne(service.baseUrls[index % 2] ?? '', shop, { idempotencyKey: `away-${String(index)}` });
        return until(async () => (await again()).status === 200, {
          deadlineMs: settledMsMax,
          what: `change ${String(index)} to be settled`,
        });
      }),
    );
    expect(await totalOf(database, shop)).to.equal(21);
    expectAlive();
  });
});
