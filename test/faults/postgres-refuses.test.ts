import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { checkLedger } from '../../shared/database/ledger-check.js';
import { queueName, queuePrefix } from '../../shared/queue/names.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { holdWorkers } from '../support/processes/hold-workers.js';
import { scrape } from '../support/metrics/exposition.js';
import { request } from '../support/http/http.js';
import type { Answer } from '../support/http/http.js';
import { inventoryPath } from '../support/http/material-paths.js';
import { openQueueHarness } from '../support/redis/queue-harness.js';
import { startService, untilServing } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import type { Proc } from '../support/processes/service-process.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;
const waitMs = 30_000;
/** A write that has no answer after this long is taken for accepted. */
const acceptedMs = 1_000;
/** With more, a job is given up. */
const deliveriesMax = 25;

describe('a Postgres that answers, and refuses what is written', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  /** What the processes have said since the test began. */
  let lines: string[] = [];
  const listenTo = (proc: Proc) => {
    proc.onLine((line) => lines.push(line));
    return proc;
  };

  before(async () => {
    service = await startService({
      env: { ADMIN_PORT: '0' },
      apiEnv: { WAIT_MS: String(waitMs), SHUTDOWN_TIMEOUT_MS: String(2 * waitMs) },
    });
    database = connectForTest(service.databaseUrl);
    [...service.apis, ...service.workers].forEach(listenTo);
  });
  beforeEach(async () => {
    lines = [];
    shop = await createTestShop(database, { materials: 1 });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  const baseUrl = () => service.baseUrls[0] ?? '';
  const said = () => lines.join('\n');
  /** Holds for new sessions. */
  const setReadOnly = (value: 'on' | 'off') =>
    database.transaction(async (transaction) => {
      await transaction.raw('SET TRANSACTION READ WRITE');
      await transaction.raw('ALTER DATABASE ?? SET default_transaction_read_only = ??', [nameOfDatabase(), value]);
    });
  /** So that the processes have new ones. */
  const endSessions = () =>
    database.raw(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'raw-materials%' AND pid <> pg_backend_pid()`,
    );
  const nameOfDatabase = () => new URL(service.databaseUrl).pathname.slice(1);
  const expectSound = async (total: number) => {
    await untilServing(service);
    expect((await addOne(baseUrl(), shop)).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(total + 1);
    expect(await checkLedger(database)).to.deep.include({ mismatchCount: 0 });
  };
  const executedOf = async (answers: Promise<{ status: number }>[]) =>
    (await Promise.all(answers)).filter(({ status }) => status === 200).length;

  const ready = () => request(baseUrl(), { path: '/readyz' });
  const isRefused = ({ status, text }: Answer, because: string) => status === 503 && text.includes(because);
  /** Returns what tells how many writes were executed of those that it sent, once all have their answers. */
  async function expectAway(why: string): Promise<() => Promise<number>> {
    const writes: Promise<Answer>[] = [];
    const isAway = async () => {
      const unready = await ready();
      if (!isRefused(unready, 'Postgres does not answer, takes no writes, or is not migrated')) return false;
      const write = addOne(baseUrl(), shop, { deadlineMs: 2 * waitMs });
      writes.push(write);
      // What a worker that stands still has said lapses. A write that comes then is accepted, and waits.
      const refused = await Promise.race([write, delay(acceptedMs, undefined)]);
      return refused !== undefined && isRefused(refused, 'The database is not reachable, or takes no writes.');
    };
    await until(isAway, { deadlineMs: soonMsMax, what: '/readyz to say so, and a write to be refused for it' });
    const read = await request(baseUrl(), { path: '/v1/raw-materials', key: shop.writeKey });
    expect(read.status).to.equal(200);
    expect(said()).to.contain(why);
    return () => executedOf(writes);
  }
  async function refuseOperations(state: string): Promise<void> {
    await database.raw(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '${state}'; END $$`);
    await database.raw('CREATE TRIGGER refuse BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION refuse()');
  }

  it('because it is read-only is away for writes and to /readyz, the log says why, and reads go on', async () => {
    await setReadOnly('on');
    await endSessions();
    await expectAway('Postgres is read-only');
    // Nobody ends the sessions that are read-only, nor does a standby from which the address has moved away.
    await setReadOnly('off');
    await expectSound(0);
  });

  it('for want of room on its disk is away as well, once a worker has met it, and what waits is applied', async () => {
    await refuseOperations('53100');
    const waiting = addOne(baseUrl(), shop, { deadlineMs: 2 * waitMs });
    const executed = await expectAway('workers are refused what they write: ');
    await database.raw('DROP FUNCTION refuse CASCADE');
    expect(await waiting).to.include({ status: 200 });
    await expectSound(1 + (await executed()));
  });

  const refusals = [
    ['a disk that is full', '53100'],
    ['a right that was taken from its role', '42501'],
  ];
  for (const [what = '', state = ''] of refusals) {
    it(`for ${what}, however often, is no fault of the operation: it waits, and is applied`, async () => {
      const cycles = async () => (await scrape(service.workers[0]?.adminUrl)).sum('raw_materials_cycle_faults_total');
      const before = await cycles();
      await refuseOperations(state);
      const answer = await sendAtLastDelivery();
      await until(async () => (await cycles()) > before + 3, {
        deadlineMs: soonMsMax,
        what: 'more deliveries than the job may have',
      });
      await database.raw('DROP FUNCTION refuse CASCADE');
      expect(await answer.heard).to.include({ status: 200 });
      await expectSound(1);
    });
  }

  /** A change whose job was handed out so often already that one delivery more is its last. */
  async function sendAtLastDelivery(): Promise<{ heard: Promise<{ status: number }> }> {
    const harness = await openQueueHarness(service.redisUrl);
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    await holdWorkers(service, harness.redis);
    const heard = addOne(baseUrl(), shop, { deadlineMs: 2 * waitMs });
    const jobId = await until(async () => (await harness.jobs(ref, 'wait'))[0], {
      deadlineMs: soonMsMax,
      what: 'the job',
    });
    await harness.redis.hset(`${queuePrefix}:${queueName(ref)}:${jobId}`, 'ats', deliveriesMax - 1);
    for (const worker of service.workers) worker.kill('SIGCONT');
    harness.close();
    return { heard };
  }

  it('to let anybody in is away, and no fault of the operation: what was sent is applied', async () => {
    const elsewhere = connectForTest(Object.assign(new URL(service.databaseUrl), { pathname: '/postgres' }).href);
    const allowConnections = (whether: string) =>
      elsewhere.raw(`ALTER DATABASE ?? ALLOW_CONNECTIONS ${whether}`, [nameOfDatabase()]);
    const statuses = new Set<number>();
    const answers: Promise<{ status: number }>[] = [];
    try {
      await allowConnections('false');
      const isAway = async () => {
        await elsewhere.raw('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?', [
          nameOfDatabase(),
        ]);
        answers.push(addOne(baseUrl(), shop, { deadlineMs: 2 * waitMs }));
        statuses.add((await request(baseUrl(), { path: '/v1/raw-materials', key: shop.writeKey })).status);
        return statuses.has(503) && said().includes('is not currently accepting connections');
      };
      await until(isAway, { deadlineMs: soonMsMax, what: 'a 503, and a log that says why' });
    } finally {
      await allowConnections('true');
      await elsewhere.destroy();
    }
    for (const { status } of await Promise.all(answers)) statuses.add(status);
    expect(statuses).to.not.include(500);
    expect(said()).to.not.contain('recorded as failed');
    await untilServing(service);
    await expectSound(await executedOf(answers));
  });

  describe('to let a role in', () => {
    const role = () => `role_of_${nameOfDatabase()}`;
    const url = () => Object.assign(new URL(service.databaseUrl), { username: role(), password: 'old' }).href;
    const setPassword = (password: string) => database.raw(`ALTER ROLE ?? PASSWORD '${password}'`, [role()]);
    /** Called again and again: a session that was just let in is not listed yet, and would stay. */
    const endSessions = () =>
      database.raw('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ?', [role()]);
    const isRefused = () => said().includes('password authentication failed');
    beforeEach(() => database.raw(`CREATE ROLE ?? SUPERUSER LOGIN PASSWORD 'old'`, [role()]));
    afterEach(() => database.raw('DROP ROLE ??', [role()]));

    it('of an API, whose password was changed, is away, and no fault of ours, until it has the new one', async () => {
      const api = listenTo(await service.startApi({ DATABASE_URL: url() }));
      const read = () => request(api.baseUrl ?? '', { path: '/v1/raw-materials', key: shop.writeKey });
      await untilServing(service);
      expect((await read()).status).to.equal(200);
      await setPassword('new');
      const statuses = new Set<number>();
      const isAway = async () => {
        await endSessions();
        // A 503 alone may come from a read whose session was ended under it.
        return statuses.add((await read()).status).has(503) && isRefused();
      };
      await until(isAway, { deadlineMs: soonMsMax, what: 'a 503, and a log that says why' });
      await setPassword('old');
      await until(async () => statuses.add((await read()).status).has(200), { deadlineMs: soonMsMax, what: 'a 200' });
      expect([...statuses]).to.have.members([503, 200]);
      await expectSound(0);
      await stopProcess(api);
    });

    /** Whether a change of the shop would be executed; a dry run is, and books nothing. */
    const isTaken = async () => {
      const path = `${inventoryPath(shop.materialIds[0] ?? '')}?dryRun=true`;
      const body = { updates: [{ locationId: shop.locationIds[0], delta: 1 }] };
      return (await request(baseUrl(), { method: 'PATCH', path, key: shop.writeKey, body })).status === 200;
    };

    // The last: it leaves no worker whose role there is.
    it('of a worker is no fault of the operation: it waits, and is applied', async () => {
      await Promise.all(service.workers.splice(0).map(stopProcess));
      listenTo(await service.startWorker({ DATABASE_URL: url() }));
      await untilServing(service);
      await setPassword('new');
      const statuses: number[] = [];
      let isUnderWay = false;
      // One after the other: where a cycle is refused for seconds, the shop's backlog is late, and another is a 503.
      const change = async () => {
        isUnderWay = true;
        statuses.push((await addOne(baseUrl(), shop, { deadlineMs: 2 * waitMs })).status);
        isUnderWay = false;
      };
      let last = change();
      const isCycleRefused = async () => {
        await endSessions();
        if (!isUnderWay) last = change();
        return isRefused();
      };
      await until(isCycleRefused, { deadlineMs: soonMsMax, what: 'a cycle that is refused' });
      await setPassword('old');
      await last;
      expect(new Set(statuses)).to.deep.equal(new Set([200]));
      expect(said()).to.not.contain('recorded as failed');
      await until(isTaken, { deadlineMs: soonMsMax, what: 'the API to see that the backlog is late no more' });
      await expectSound(statuses.length);
    });
  });
});
