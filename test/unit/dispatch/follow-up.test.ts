import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { DispatchMetrics } from '../../../api/dispatch/dispatch-metrics.js';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import { startFollowUp } from '../../../api/dispatch/follow-up.js';
import type { FollowUp } from '../../../api/dispatch/follow-up.js';
import type { QueueLink } from '../../../api/dispatch/queue-link.js';
import { graceMs } from '../../../api/dispatch/settings.js';
import type { FormedJob, Waiter } from '../../../api/dispatch/waiter.js';
import type { Database } from '../../../shared/database/connect.js';
import { createSlotMap } from '../../../shared/runtime/slot-map.js';
import type { SlotMap } from '../../../shared/runtime/slot-map.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { operationOf } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const [longMs, soonMsMax, patienceMs] = [3_600_000, 10_000, 15_000];
/** Of a look-up. */
const batchSize = 1_000;

describe('the follow-up of writes that hear nothing', () => {
  const harness = useQueueHarness();
  let waiters: SlotMap<Waiter>;
  let outcomes: Map<string, DispatchOutcome>;
  let followUp: FollowUp;
  /** What Postgres is asked, and what it answers; by default it has nothing on record. */
  let lookUp: (ids: string[]) => Promise<{ rows: unknown[] }>;
  let cancel: () => Promise<unknown>;
  /** Jobs that were sent again. */
  let sent: FormedJob[];
  /** Jobs that others are to pass by. */
  let passedBy: FormedJob[];

  beforeEach(() => {
    waiters = createSlotMap();
    sent = [];
    passedBy = [];
    outcomes = new Map();
    lookUp = () => Promise.resolve({ rows: [] });
    cancel = () => Promise.resolve({ outcomes: new Map() });
    // A command without values is none of its questions.
    const query = (asked: { values: [string[]] } | string) =>
      typeof asked === 'string' ? Promise.resolve() : lookUp(asked.values[0]);
    const client = { acquireConnection: () => Promise.resolve({ query }), releaseConnection: () => Promise.resolve() };
    const database = { client, transaction: () => cancel() };
    followUp = startFollowUp({
      link: {
        redis: harness.redis,
        queues: harness.queues,
        apiId: 'test',
        enqueuing: { passed: () => undefined, failed: () => undefined },
      } as unknown as QueueLink,
      database: database as unknown as Database,
      logger: pino({ level: 'silent' }),
      metrics: new Proxy({} as DispatchMetrics, { get: () => () => undefined }),
      waiters,
      send: (jobs) => {
        sent.push(...jobs);
        return Promise.resolve('queued');
      },
      answer: ({ operation }, outcome) => {
        waiters.delete(operation.id);
        outcomes.set(operation.id, outcome);
      },
      passBy: (job) => passedBy.push(job),
    });
  });
  const now = performance.now.bind(performance);
  afterEach(() => {
    followUp.stop();
    performance.now = now;
  });

  /** A request whose wait ends in `leftMs`, and whose job was sent, or is still to be. */
  function wait(leftMs = longMs, isSent = true): Waiter {
    const ref = { shopId: 1, materialId: 'VMAT-a' };
    const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
    const job = isSent ? { id: uuidv7(), ref, open: new Set<Waiter>(), formedMs: now() } : undefined;
    const times = { waitEndsMs: performance.now() + leftMs, nextLookUpMs: 0 };
    const more = { rowCount: 1, bytes: 1, graceEndsMs: undefined, resolve: () => undefined };
    const waiter: Waiter = { ref, operation, job, ...times, ...more };
    waiters.set(operation.id, waiter);
    return waiter;
  }

  it('looks up all that are due, also those beyond a batch', async () => {
    const asked = new Set<string>();
    lookUp = (ids) => {
      expect(ids.length).to.be.at.most(batchSize);
      for (const id of ids) asked.add(id);
      return Promise.resolve({ rows: [] });
    };
    for (let count = 0; count < batchSize + 1; count += 1) wait();
    await until(() => asked.size === batchSize + 1, { deadlineMs: soonMsMax, what: 'the last to be looked up' });
  });

  it('looks up again after a look-up that failed', async () => {
    const { operation } = wait();
    let failures = 2;
    lookUp = ([id]) => {
      if (failures-- > 0) return Promise.reject(new Error('Connection terminated'));
      return Promise.resolve({ rows: [{ op_id: id, status: 'expired', result: null }] });
    };
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the record to be found' });
    expect(outcomes.get(operation.id)).to.have.property('status', 'not-applied');
  });

  it('lets others pass by a job that a worker has had for a second, and none that is in line or has come only now', async () => {
    const waiting = ['in line', 'taken now', 'taken'].map((materialId) => {
      const waiter = wait();
      if (waiter.job !== undefined) waiter.job.ref = { shopId: 1, materialId };
      waiter.job?.open.add(waiter);
      return waiter;
    });
    const jobs = waiting.flatMap(({ job }) => job ?? []);
    const [, , taken] = jobs;
    if (taken !== undefined) taken.formedMs -= 1_000;
    // At first none is there: they are due once all are.
    for (const waiter of waiting) waiter.nextLookUpMs = Infinity;
    for (const { id, ref } of jobs.slice(1)) await harness.add(ref, { id });
    await harness.take();
    for (const { id, ref } of jobs.slice(0, 1)) await harness.add(ref, { id });
    for (const waiter of waiting) waiter.nextLookUpMs = 0;
    await until(() => passedBy.length > 0, { deadlineMs: soonMsMax, what: 'one to be passed by' });
    expect(passedBy).to.deep.equal([taken]);
    expect(sent).to.deep.equal([]);
  });

  it('adds a job again that is gone, but not where all that was in it has had its answer meanwhile', async () => {
    // Of the first, as if the replies had come while Redis was asked: then its job is gone because it is done.
    const [, lost] = [wait(), wait()];
    lost.job?.open.add(lost);
    await until(() => sent.length > 0, { deadlineMs: soonMsMax, what: 'a job to be added again' });
    expect(new Set(sent)).to.deep.equal(new Set([lost.job]));
  });

  it('adds no job again whose cancellation has begun while Postgres was asked', async () => {
    const [given, lost] = [wait(), wait()];
    for (const waiter of [given, lost]) waiter.job?.open.add(waiter);
    cancel = () => new Promise(() => undefined);
    lookUp = () => {
      followUp.cancelAtOnce([given]);
      return Promise.resolve({ rows: [] });
    };
    await until(() => sent.length > 0, { deadlineMs: soonMsMax, what: 'a job to be added again' });
    expect(sent).to.deep.equal([lost.job]);
  });

  it('cancels at once what may not have been queued, again after a failure, and looks up no more', async () => {
    // Slows the clock, or on a machine that stands still the grace could be over before the third try.
    const startMs = now();
    performance.now = () => startMs + (now() - startMs) / 10;
    let [asked, failures] = [0, 2];
    cancel = () =>
      failures-- > 0 ? Promise.reject(new Error('Connection terminated')) : Promise.resolve({ outcomes: answers() });
    const waiter = wait();
    const answers = () => new Map([[waiter.operation.id, { status: 'cancelled' }]]);
    lookUp = () => {
      asked += 1;
      return Promise.resolve({ rows: [] });
    };
    followUp.cancelAtOnce([waiter]);
    expect(failures, 'the first try').to.equal(1);
    await until(() => outcomes.get(waiter.operation.id), { deadlineMs: soonMsMax, what: 'the cancellation' });
    expect(outcomes.get(waiter.operation.id)).to.have.property('status', 'not-applied');
    expect(asked).to.equal(0);
  });

  /** Cancels a write by tries that `end` in the same way, within a grace of ten seconds; counts them, and the ticks. */
  function tryToCancel(end: () => Promise<unknown>): { tries: number; ticks: number } {
    const startMs = now();
    performance.now = () => startMs + (now() - startMs) / 10;
    const counted = { tries: 0, ticks: 0 };
    cancel = () => {
      counted.tries += 1;
      return end();
    };
    // Another write is looked up at every tick.
    const other = wait();
    lookUp = () => {
      counted.ticks += 1;
      other.nextLookUpMs = 0;
      return Promise.resolve({ rows: [] });
    };
    followUp.cancelAtOnce([wait()]);
    return counted;
  }

  it('tries more often than it ticks where a lock is in the way, which may be gone and back between two ticks', async () => {
    const counted = tryToCancel(() => Promise.resolve({ outcomes: new Map() }));
    await until(() => counted.tries > counted.ticks + 4, { deadlineMs: soonMsMax, what: 'tries between the ticks' });
  });

  it('does not try more often where Postgres is away', async () => {
    const counted = tryToCancel(() => Promise.reject(new Error('Connection terminated')));
    await until(() => counted.ticks >= 4, { deadlineMs: soonMsMax, what: 'some ticks' });
    // One at once, one at each tick, and at the last perhaps before the look-up.
    expect(counted.tries).to.be.at.most(counted.ticks + 2);
  });

  it('cancels one batch after the other, and never beside itself', async () => {
    let [underWay, most, done] = [0, 0, 0];
    cancel = async () => {
      most = Math.max(most, (underWay += 1));
      await nextTurn();
      underWay -= 1;
      done += 1;
      return { outcomes: new Map() };
    };
    followUp.cancelAtOnce(Array.from({ length: 2 * batchSize + 1 }, () => wait()));
    await until(() => done >= 3, { deadlineMs: soonMsMax, what: 'the last batch' });
    expect(most).to.equal(1);
  });

  it('cancels those beyond a batch also where a lock holds up all that stand before them', async () => {
    const given = Array.from({ length: batchSize + 1 }, () => wait());
    const id = given.at(-1)?.operation.id ?? '';
    cancel = () => Promise.resolve({ outcomes: new Map([[id, { status: 'cancelled' }]]) });
    followUp.cancelAtOnce(given);
    await until(() => outcomes.get(id), { deadlineMs: soonMsMax, what: 'the cancellation of the last' });
    expect(outcomes.get(id)).to.have.property('status', 'not-applied');
  });

  it('leaves open what could not be cancelled within the grace, and not before, however often that is asked for', async () => {
    let attempts = 0;
    cancel = () => {
      attempts += 1;
      followUp.cancelAtOnce(waiters.values());
      return Promise.reject(new Error('Connection terminated'));
    };
    const startedMs = performance.now();
    const { operation } = wait(0);
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    expect(outcomes.get(operation.id)).to.deep.equal({ status: 'unknown' });
    expect(performance.now() - startedMs).to.be.at.least(graceMs);
    expect(attempts).to.be.greaterThan(0);
  });

  /** How often was it tried to cancel in the time of some ticks, during which nobody waits for an answer. */
  async function triesOfTicks(tries: () => number): Promise<number> {
    const before = tries();
    let ticks = 0;
    const other = wait();
    lookUp = () => {
      ticks += 1;
      other.nextLookUpMs = 0;
      return Promise.resolve({ rows: [] });
    };
    await until(() => ticks >= 3, { deadlineMs: soonMsMax, what: 'some ticks' });
    waiters.delete(other.operation.id);
    return tries() - before;
  }

  it('cancels later what it had to leave open since a lock was in the way, until it is on record', async () => {
    const { operation } = wait(0);
    let [tries, isFree] = [0, false];
    cancel = () => {
      tries += 1;
      return Promise.resolve({ outcomes: new Map(isFree ? [[operation.id, { status: 'cancelled' }]] : []) });
    };
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    expect(outcomes.get(operation.id)).to.deep.equal({ status: 'unknown' });
    expect(await triesOfTicks(() => tries), 'while the lock may soon be gone').to.equal(0);
    performance.now = () => now() + patienceMs + 1;
    expect(await triesOfTicks(() => tries)).to.be.above(0);
    isFree = true;
    expect(await triesOfTicks(() => tries)).to.be.above(0);
    expect(await triesOfTicks(() => tries), 'once it is on record').to.equal(0);
  });

  it('does not cancel later what it had to leave open since Postgres was away: that waits for a worker', async () => {
    const { operation } = wait(0);
    let tries = 0;
    cancel = () => {
      tries += 1;
      return Promise.reject(new Error('Connection terminated'));
    };
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    performance.now = () => now() + patienceMs + 1;
    expect(await triesOfTicks(() => tries)).to.equal(0);
  });

  it('cancels all the same what it comes to late, since the process stood still beyond the grace', async () => {
    const { operation } = wait(-10_000);
    cancel = () => Promise.resolve({ outcomes: new Map([[operation.id, { status: 'cancelled' }]]) });
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the cancellation' });
    expect(outcomes.get(operation.id)).to.have.property('status', 'not-applied');
  });

  it('ends the wait of what never left the process, without asking anybody', async () => {
    cancel = () => Promise.reject(new Error('nobody is asked'));
    const { operation } = wait(0, false);
    const later = wait(longMs, false);
    await until(() => outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'its end' });
    expect(outcomes.get(operation.id)).to.have.property('status', 'not-applied');
    expect(waiters.has(later.operation.id)).to.equal(true);
  });
});
