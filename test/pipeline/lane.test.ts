import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { leaseMs, takeMaterials } from '../../shared/queue/leases.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { createCycleFaults } from '../../worker/cycle-faults.js';
import type { LaneDeps } from '../../worker/lane-deps.js';
import { startLane } from '../../worker/lane.js';
import { useDatabase } from '../support/database/database.js';
import { databaseWhose, depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

/** Longer than a cycle may take; then its lane counts as stuck. */
const stuckMs = 30_000;
const soonMsMax = 15_000;
/** How often a transaction is tried before its materials are given back. */
const attemptsMax = 3;

describe('a lane whose Postgres does not answer, or refuses', () => {
  const harness = useQueueHarness();
  const now = performance.now.bind(performance);
  afterEach(() => (performance.now = now));

  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const leftMs = async () => {
    const [seconds, micros] = await harness.redis.time();
    const nowMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    return Number(await harness.redis.zscore(keys.scheduled, queueName(ref))) - nowMs;
  };
  const untilRenewed = async () => {
    await until(async () => (await harness.redis.hlen(keys.leases)) === 1, { deadlineMs: soonMsMax, what: 'the take' });
    // Cut short, so that a renewal shows.
    await harness.redis.zadd(keys.scheduled, 1, queueName(ref));
    await until(async () => (await leftMs()) > 0, { deadlineMs: soonMsMax, what: 'a renewal' });
  };
  const addJob = () =>
    harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })] });

  it('renews its leases for as long as a cycle may take, and then leaves them to others', async () => {
    await withLane(async () => {
      await addJob();
      await untilRenewed();
      performance.now = () => now() + stuckMs + 1;
      await until(async () => (await leftMs()) < 0, { deadlineMs: soonMsMax, what: 'the lease to run out' });
      expect(await harness.sweep()).to.equal(1);
      expect(await harness.ready(ref.shopId)).to.deep.equal([queueName(ref)]);
    });
  });

  it('counts that time from the begin of the cycle, however long it has been there', async () => {
    await withLane(async () => {
      performance.now = () => now() + stuckMs + 1;
      await addJob();
      await untilRenewed();
    });
  });

  it('renews them several times in the time of a lease, since one renewal may fail', async () => {
    await addJob();
    const renewedAtMs: number[] = [];
    const redis = new Proxy(harness.redis, {
      get(target, name) {
        if (name === 'rmRenew') renewedAtMs.push(now());
        return Reflect.get(target, name) as unknown;
      },
    });
    const isSoonAgain = () => renewedAtMs.some((atMs, index) => atMs - (renewedAtMs[index - 1] ?? 0) < leaseMs / 2);
    // A process that stands still renews late, but never early.
    await withLane(
      async () => {
        await until(isSoonAgain, { deadlineMs: soonMsMax, what: 'two renewals' });
      },
      { redis },
    );
  });

  it('gives back what it held also where Redis was away at first', async () => {
    await addJob();
    let isRefused = false;
    const redis = new Proxy(harness.redis, {
      get(target, name) {
        if (name !== 'rmGiveBack' || isRefused) return Reflect.get(target, name) as unknown;
        isRefused = true;
        return () => Promise.reject(new Error('Connection is closed.'));
      },
    });
    await withLane(
      async (fail) => {
        await until(async () => (await harness.redis.hlen(keys.leases)) === 1, {
          deadlineMs: soonMsMax,
          what: 'the take',
        });
        fail(Object.assign(new Error('refused'), { code: '40P01' }));
        await until(async () => (await harness.redis.hlen(keys.leases)) === 0, {
          deadlineMs: soonMsMax,
          what: 'the lease to be given back, which nobody sweeps here',
        });
        expect(isRefused).to.equal(true);
      },
      { redis },
    );
  });

  it('begins nothing with what it gave back until it has taken it again', async () => {
    await addJob();
    let [steps, begun] = [0, 0];
    const presence = { ...(await createWorkerPresence(harness.redis)), assertServes: () => (steps += 1) };
    const acquireConnection = () => {
      begun += 1;
      return Promise.reject(Object.assign(new Error('refused'), { code: '40P01' }));
    };
    const lane = startLane(await depsOf(harness, { database: databaseWhose(acquireConnection), presence }), wakeful);
    await until(() => begun > 0, { deadlineMs: soonMsMax, what: 'the first transaction' });
    const before = steps;
    await until(() => steps > before + 10, { deadlineMs: soonMsMax, what: 'the lane to have looked around' });
    lane.stop();
    await lane.done;
    expect(begun).to.equal(attemptsMax);
  });

  /** Runs a lane whose Postgres stays silent until `use` makes it fail or ends. */
  async function withLane(
    use: (fail: (error: Error) => void) => Promise<void>,
    own?: Partial<LaneDeps>,
  ): Promise<void> {
    let fail: (error: Error) => void = () => undefined;
    const silence = new Promise<never>((_, reject) => (fail = reject));
    // It may be rejected before the lane awaits it.
    silence.catch(() => undefined);
    const lane = startLane(await depsOf(harness, { database: databaseWhose(() => silence), ...own }), wakeful);
    try {
      await use(fail);
    } finally {
      lane.stop();
      fail(new Error('Connection terminated'));
      await lane.done;
    }
  }
});

describe('a lane whose Redis became a replica', () => {
  const harness = useQueueHarness();
  let operator: Redis;
  before(() => (operator = new Redis(harness.server.url)));
  after(() => operator.disconnect());

  const refusedQuestions = async (): Promise<number> => {
    const stats = await operator.info('commandstats');
    return Number(/^cmdstat_del:.*\brejected_calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  };

  it('says once what failed and once why it waits, asks until it takes writes again, says so, and works then', async () => {
    const operations = [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })];
    await harness.add({ shopId: 1, materialId: 'VMAT-VAR-a' }, { operations });
    const warned: string[] = [];
    let fail: (error: Error) => void = () => undefined;
    const silence = new Promise<never>((_, reject) => (fail = reject));
    const logger = pino({}, { write: (line) => warned.push(line) });
    const deps = await depsOf(harness, {
      database: databaseWhose(() => silence),
      logger,
      faults: createCycleFaults(logger, 100),
    });
    await operator.config('RESETSTAT');
    await operator.replicaof('127.0.0.1', '1');
    const lane = startLane(deps, wakeful);
    await until(async () => (await refusedQuestions()) >= 5, { deadlineMs: soonMsMax, what: 'the fifth question' });
    // Now and then a connection leaves the replica, and a question on a closed one fails for another reason.
    const lines = warned.map((line) => JSON.parse(line) as { msg: string; err: { message: string } });
    expect(new Set(lines.map(({ msg, err }) => msg + err.message)).size).to.equal(lines.length);
    const ofReplica = lines.filter(({ err }) => err.message.startsWith('READONLY'));
    expect(ofReplica.map(({ msg }) => msg)).to.deep.equal([
      'A cycle was given up and is tried again.',
      'Nothing is taken until Redis and Postgres take writes of ours.',
    ]);

    await operator.replicaof('NO', 'ONE');
    await until(async () => (await operator.hlen(keys.leases)) === 1, { deadlineMs: soonMsMax, what: 'the take' });
    const isOver = 'This is over: Nothing is taken until Redis and Postgres take writes of ours.';
    await until(() => warned.some((line) => line.includes(isOver)), { deadlineMs: soonMsMax, what: 'that it is over' });
    lane.stop();
    fail(new Error('Connection terminated'));
    await lane.done;
  });
});

describe('a lane that is stopped', () => {
  const harness = useQueueHarness();
  const postgres = useDatabase({ poolMax: 3, pipeline: true });
  /** Jobs of one material that a cycle takes on. */
  const jobsACycle = 64;

  it('gives back what was taken for it while it waited, as if it had never had it', async () => {
    const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
    const deps = await depsOf(harness, { database: postgres.database });
    let id = '';
    const take = async () => {
      id = await harness.add(ref);
      lane.stop();
      return takeMaterials(harness.redis, deps.presence, 1);
    };
    const lane = startLane(deps, { take, close: () => Promise.resolve() });
    await lane.done;
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([id]);
    expect(await harness.ready(ref.shopId)).to.deep.equal([queueName(ref)]);
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${id}`, 'ats')).to.equal('0');
  });

  it('ends its cycle, and leaves what is behind it to the next at once, as if it had never had it', async () => {
    const shop = await createTestShop(postgres.database);
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    const row = { locationId: shop.locationIds[0] ?? '', delta: 1 };
    const jobs: string[] = [];
    for (let count = 0; count < jobsACycle + 1; count += 1) {
      jobs.push(await harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [row] })] }));
    }
    const deps = await depsOf(harness, {
      database: postgres.database,
      // Told within the cycle, once its transaction is committed.
      ledgerWatch: { changed: () => lane.stop(), stop: () => Promise.resolve() },
      warnOfLeftOut: () => undefined,
    });
    const lane = startLane(deps, wakeful);
    await lane.done;
    const last = jobs.at(-1) ?? '';
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([last]);
    expect(await harness.jobs(ref, 'active')).to.deep.equal([]);
    expect(await harness.redis.hlen(keys.leases)).to.equal(0);
    expect(await harness.ready(ref.shopId)).to.deep.equal([queueName(ref)]);
    // Each delivery brings a job nearer to its end as a failure of ours.
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${last}`, 'ats')).to.equal(null);
  });

  it('begins no further transaction of its cycle, and gives back what that would have applied', async () => {
    const shop = await createTestShop(postgres.database, { materials: 2 });
    // Ten such operations fill a transaction. They book nothing: a slow Postgres ends a statement that writes so many.
    const rows = Array.from({ length: 1_000 }, () => ({ locationId: shop.locationIds[0] ?? '', delta: 1 }));
    const full = () => operationOf({ kind: 'adjust', rows, dryRun: true });
    const refs = shop.materialIds.map((materialId) => ({ shopId: shop.shopId, materialId }));
    const ids: string[] = [];
    for (const ref of refs) {
      ids.push(await harness.add(ref, { operations: Array.from({ length: 10 }, full) }));
    }
    let transactions = 0;
    const deps = await depsOf(harness, {
      database: postgres.database,
      // Told within the cycle, once a transaction is committed.
      ledgerWatch: {
        changed: () => {
          transactions += 1;
          lane.stop();
        },
        stop: () => Promise.resolve(),
      },
    });
    const lane = startLane(deps, wakeful);
    await lane.done;
    expect(transactions).to.equal(1);
    const left = await Promise.all(refs.map((ref) => harness.jobs(ref, 'wait')));
    expect(left.flat(), 'one of the two').to.have.length(1);
    const [first] = left.flat();
    const queue = queueName(refs[ids.indexOf(first ?? '')] ?? expect.fail('no such job'));
    expect(await harness.redis.hget(`${queuePrefix}:${queue}:${first ?? ''}`, 'ats')).to.be.oneOf([null, '0']);
    expect(await harness.redis.hlen(keys.leases)).to.equal(0);
    expect(await harness.ready(shop.shopId)).to.deep.equal([queue]);
  });
});

describe('a lane that is stopped while Postgres fails it', () => {
  const harness = useQueueHarness();

  it('does not try again: beside a silent Postgres each try takes seconds', async () => {
    const operations = [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })];
    await harness.add({ shopId: 1, materialId: 'VMAT-VAR-a' }, { operations });
    let begun = 0;
    const acquireConnection = () => {
      begun += 1;
      lane.stop();
      return Promise.reject(Object.assign(new Error('refused'), { code: '40P01' }));
    };
    const lane = startLane(await depsOf(harness, { database: databaseWhose(acquireConnection) }), wakeful);
    await lane.done;
    expect(begun).to.equal(1);
  });
});
