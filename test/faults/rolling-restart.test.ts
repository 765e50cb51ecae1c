import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { idleInTransactionTimeoutMs } from '../../shared/database/apply-bounds.js';
import type { Database } from '../../shared/database/connect.js';
import { leaseMs } from '../../shared/queue/leases.js';
import { keys } from '../../shared/queue/names.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import type { FaultRound } from '../support/faults/fault-rounds.js';
import { withLockedTable } from '../support/database/broken-storage.js';
import { connectForTest } from '../support/database/database.js';
import { startFaultRun } from '../support/faults/fault-run.js';
import { closeConnections, hasIdleConnection } from '../support/http/http.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { useService } from '../support/processes/use-service.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import type { Proc } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const pauseMsMax = 300;
const answeredMsMax = 30_000;
const roundsMax = 10;

/**
 * The balancer in front of the APIs is the clients' own connection pool (`test/support/http/http.ts`). Just before the
 * SIGTERM it is told, as orchestrators tell it, and opens no new connection to that API. It goes on using open ones
 * until `Connection: close`, the end of the connection, half a second of idleness or 0.8 s since the last request on
 * it, after which a balancer should not trust a connection. So what must hold is that no request is reset on a
 * connection that was not announced as closing. No request is ever repeated to hide a reset.
 */
describe('T14: rolling restarts of APIs and workers', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2 }, (started) => ({ service, database } = started));

  it('under load reset no connection and cost no answer: each is one of an execution', async () => {
    const size = sizeOf({ small: 3, long: 200 });
    let slowestMs = 0;
    await runFaultRounds(
      {
        test: 'T14',
        unit: 'restarts of an API and a worker',
        size,
        service,
        database,
        faultsARound: 10,
        // A change that has to wait for a lease of a worker that is gone takes longer.
        figures: () => [{ name: 'slowest change (ms)', value: Math.round(slowestMs), most: leaseMs }],
      },
      async (run) => {
        while (run.left() > 0) {
          await restartOneOfEach(run);
          run.add();
        }
        await run.load.finish();
        const attempts = run.load.history.intents.flatMap((intent) => intent.attempts);
        const told = attempts.map(({ answer }) => answer?.text ?? 'a reset');
        const isFailure = (_: unknown, index: number) => !((attempts[index]?.answer?.status ?? 500) < 500);
        expect(told.filter(isFailure), 'resets and 5xx').to.deep.equal([]);
        expect(run.load.failedReads(), 'reads that failed').to.equal(0);
        slowestMs = Math.max(slowestMs, ...attempts.map(({ sentMs, answeredMs }) => answeredMs - sentMs));
      },
    );
  });

  async function restartOneOfEach(run: FaultRound): Promise<void> {
    const oldApi = service.apis[0]!;
    const oldWorker = service.workers[0]!;
    const isAddedFirst = run.dice.chance(0.5);
    if (isAddedFirst) await Promise.all([service.startApi(), service.startWorker()]);
    await delay(run.dice.below(pauseMsMax));
    service.apis[0] = drained(oldApi);
    service.workers.shift();
    oldApi.kill('SIGTERM');
    await delay(run.dice.below(pauseMsMax));
    oldWorker.kill('SIGTERM');
    expect(await Promise.all([oldApi.exited, oldWorker.exited])).to.deep.equal([cleanEnd, cleanEnd]);
    service.apis.shift();
    closeConnections(oldApi.baseUrl ?? '');
    if (!isAddedFirst) await Promise.all([service.startApi(), service.startWorker()]);
    await run.progress(run.dice.below(100));
  }
});

/** An API to a balancer that opens no new connection to it: it is there for as long as one is open and free. */
function drained(api: Proc): Proc {
  const { baseUrl = '' } = api;
  return Object.defineProperty({ ...api }, 'baseUrl', {
    get: () => (hasIdleConnection(baseUrl) ? baseUrl : undefined),
  });
}

const cleanEnd = { code: 0, signal: null };

describe('T14: a worker that is told to stop', () => {
  let service: Service;
  let database: Database;
  let redis: Redis;
  before(async () => {
    // A wait above the bound of a worker's stop plus a lease, so that whoever waits for a stuck worker is answered.
    const apiEnv = { WAIT_MS: '20000', SHUTDOWN_TIMEOUT_MS: '23000' };
    service = await startService({ apis: 1, workers: 1, apiEnv });
    database = connectForTest(service.databaseUrl);
    redis = new Redis(service.redisUrl);
  });
  after(async () => {
    redis.disconnect();
    await database.destroy();
    await service.stop();
  });

  it('finishes its cycle, is off the list of workers, and leaves no lease behind that anybody would wait for', async () => {
    const run = await startFaultRun({ title: 'T14 worker', service, database });
    for (let restart = 0; restart < 5; restart += 1) {
      await run.progress(50 + run.dice.below(100));
      const worker = service.workers.shift()!;
      worker.kill('SIGTERM');
      expect(await worker.exited).to.deep.equal(cleanEnd);
      expect(await redis.hgetall(keys.leases)).to.deep.equal({});
      // Or the APIs would queue, for three seconds more, what nobody is there to apply.
      expect(await redis.zrange(keys.workers, '0', '-1')).to.deep.equal([]);
      await service.startWorker();
    }
    await run.progress(50);
    await run.judge();
  });

  it('and deletes what is old waits for the batch under way, and is on the list of workers until then', async () => {
    const [other] = service.workers;
    await freezeWorkers(service, service.workers.slice(0, 1));
    const listed = () => redis.zrange(keys.workers, '0', '-1');
    const others = new Set(await listed());
    const isWaiting = async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return (await database.raw<{ rows: unknown[] }>(waiting)).rows.length > 0;
    };
    const { worker, id } = await withLockedTable(database, 'operations', async () => {
      const pruning = await service.startWorker();
      const [id = 'none'] = (await listed()).filter((each) => !others.has(each));
      await until(isWaiting, { deadlineMs: answeredMsMax, what: 'the batch to wait' });
      pruning.kill('SIGTERM');
      await until(() => pruning.logs().join('\n').includes('"closing"'), {
        deadlineMs: answeredMsMax,
        what: 'the signal to be heard',
      });
      // For longer than all else takes to end. The batch itself is given up after five seconds.
      for (let look = 0; look < 10; look += 1) {
        const isListed = (await listed()).includes(id);
        if (await isWaiting()) expect(isListed, 'on the list').to.equal(true);
        await delay(50);
      }
      return { worker: pruning, id };
    });
    expect(await worker.exited).to.deep.equal(cleanEnd);
    expect(await listed()).to.not.include(id);
    forget(service, worker);
    other?.kill('SIGCONT');
  });

  it('in the middle of a transaction still commits it, and the client has its answer from that worker', async () => {
    // Again where it stood still for so long that Postgres may have ended the transaction: none was left to commit.
    let isInTime = false;
    for (let round = 1; !isInTime && round <= roundsMax; round += 1) {
      const shop = await createTestShop(database);
      isInTime = await stopAtCommit(shop);
      expect(await totalOf(database, shop)).to.equal(1);
    }
    expect(isInTime, 'told in time to go on').to.equal(true);
  });

  /** Returns whether the worker was told in time to go on. */
  async function stopAtCommit(shop: TestShop): Promise<boolean> {
    const other = service.workers[0]!;
    // It stands still there until it is told, because Postgres ends a transaction that is idle for two seconds.
    const slow = await service.startWorker({ FAIL_POINTS: 'before-commit=stop:1' });
    await freezeWorkers(service, [other]);
    const sentMs = performance.now();
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await slow.fired('before-commit');
    slow.kill('SIGTERM');
    await slow.goOn();
    const isInTime = performance.now() - sentMs < idleInTransactionTimeoutMs;
    // Else the other may have to apply it.
    if (!isInTime) other.kill('SIGCONT');
    expect((await asked).status).to.equal(200);
    expect(await slow.exited).to.deep.equal(cleanEnd);
    other.kill('SIGCONT');
    forget(service, slow);
    return isInTime;
  }

  it('and is stuck is forced out within its bound, and another applies what it held, once', async () => {
    const shop = await createTestShop(database);
    const other = service.workers[0]!;
    const stuck = await service.startWorker({ FAIL_POINTS: 'before-commit=delay:600000' });
    // The worker of the test before was the only one that still said it lived.
    await untilServing(service);
    await freezeWorkers(service, [other]);
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await stuck.fired('before-commit');
    other.kill('SIGCONT');
    stuck.kill('SIGTERM');
    expect(await stuck.exited).to.deep.equal({ code: 1, signal: null });
    expect(stuck.logs().join('\n')).to.contain('lanes, mirror, ledger watch and pruning did not close: forced to exit');
    expect((await asked).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(1);
    forget(service, stuck);
  });
});

function forget(service: Service, worker: Proc): void {
  service.workers.splice(service.workers.indexOf(worker), 1);
}
