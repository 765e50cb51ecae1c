import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { graceMs } from '../../../api/dispatch/settings.js';
import { until } from '../../support/time/until.js';
import { longMs, useFollowUp } from './use-follow-up.js';

const [soonMsMax, patienceMs] = [10_000, 15_000];
/** Of a look-up. */
const batchSize = 1_000;

describe('the follow-up of writes that hear nothing', () => {
  const followUp = useFollowUp();
  const { wait, redis: harness } = followUp;

  it('looks up all that are due, also those beyond a batch', async () => {
    const asked = new Set<string>();
    followUp.lookUp = (ids) => {
      expect(ids.length).to.be.at.most(batchSize);
      for (const id of ids) asked.add(id);
      return Promise.resolve({ rows: [] });
    };
    for (let count = 0; count < batchSize + 1; count += 1) wait();
    await until(() => asked.size === batchSize + 1, { deadlineMs: soonMsMax, what: 'the last to be looked up' });
    expect(followUp.counted.lookedUp).to.be.at.least(batchSize + 1);
  });

  it('looks up nothing while a look-up is under way, however slow Postgres is', async () => {
    let [asked, tries] = [0, 0];
    let end: () => void = () => undefined;
    followUp.lookUp = () => {
      asked += 1;
      return new Promise((resolve) => (end = () => resolve({ rows: [] })));
    };
    // A cancellation is tried at every tick.
    followUp.cancel = () => {
      tries += 1;
      return Promise.reject(new Error('Connection terminated'));
    };
    wait();
    await until(() => asked === 1, { deadlineMs: soonMsMax, what: 'the look-up' });
    wait();
    followUp.cancelAtOnce([wait()]);
    await until(() => tries > 3, { deadlineMs: soonMsMax, what: 'some ticks' });
    expect(asked).to.equal(1);
    end();
    await until(() => asked === 2, { deadlineMs: soonMsMax, what: 'the next look-up' });
    end();
  });

  it('looks up again after a look-up that failed', async () => {
    const { operation } = wait();
    let failures = 2;
    followUp.lookUp = ([id]) => {
      if (failures-- > 0) return Promise.reject(new Error('Connection terminated'));
      return Promise.resolve({ rows: [{ op_id: id, status: 'expired', result: null }] });
    };
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the record to be found' });
    expect(followUp.outcomes.get(operation.id)).to.have.property('status', 'not-applied');
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
    await until(() => followUp.heldUp.length > 0, { deadlineMs: soonMsMax, what: 'one to be held up' });
    expect(followUp.heldUp).to.deep.equal([taken]);
    expect(followUp.sent).to.deep.equal([]);
  });

  it('adds a job again that is gone, but not where all that was in it has had its answer meanwhile', async () => {
    // Of the first, as if the replies had come while Redis was asked: then its job is gone because it is done.
    const [, lost] = [wait(), wait()];
    lost.job?.open.add(lost);
    await until(() => followUp.sent.length > 0, { deadlineMs: soonMsMax, what: 'a job to be added again' });
    expect(new Set(followUp.sent)).to.deep.equal(new Set([lost.job]));
  });

  it('takes no job for lost that a worker has finished after Postgres was asked and before Redis was', async () => {
    const [done, lost] = [wait(), wait()];
    for (const waiter of [done, lost]) waiter.job?.open.add(waiter);
    const asked: string[][] = [];
    followUp.lookUp = (ids) => {
      asked.push(ids);
      // Otherwise it would be lost anew, a second later.
      lost.nextLookUpMs = Infinity;
      const rows = asked.length === 1 ? [] : [{ op_id: done.operation.id, status: 'expired', result: null }];
      return Promise.resolve({ rows });
    };
    await until(() => followUp.sent.length > 0, { deadlineMs: soonMsMax, what: 'the lost one to be added again' });
    expect(followUp.sent).to.deep.equal([lost.job]);
    expect(followUp.counted.addedAgain).to.equal(1);
    expect(followUp.said).to.deep.equal(['A job was lost and is added again.']);
    expect(followUp.outcomes.get(done.operation.id)).to.have.property('status', 'not-applied');
    const both = [done, lost].map(({ operation }) => operation.id);
    expect(asked, 'together, and once').to.deep.equal([both, both]);
  });

  it('adds no job again whose cancellation has begun while Postgres was asked', async () => {
    const [given, lost] = [wait(), wait()];
    for (const waiter of [given, lost]) waiter.job?.open.add(waiter);
    followUp.cancel = () => new Promise(() => undefined);
    followUp.lookUp = () => {
      followUp.cancelAtOnce([given]);
      return Promise.resolve({ rows: [] });
    };
    await until(() => followUp.sent.length > 0, { deadlineMs: soonMsMax, what: 'a job to be added again' });
    expect(followUp.sent).to.deep.equal([lost.job]);
  });

  it('cancels at once what may not have been queued, again after a failure, and looks up no more', async () => {
    // Slows the clock, or on a machine that stands still the grace could be over before the third try.
    const startMs = followUp.now();
    performance.now = () => startMs + (followUp.now() - startMs) / 10;
    let [asked, failures] = [0, 2];
    followUp.cancel = () =>
      failures-- > 0 ? Promise.reject(new Error('Connection terminated')) : Promise.resolve({ outcomes: answers() });
    const waiter = wait();
    const answers = () => new Map([[waiter.operation.id, { status: 'cancelled' }]]);
    followUp.lookUp = () => {
      asked += 1;
      return Promise.resolve({ rows: [] });
    };
    followUp.cancelAtOnce([waiter]);
    expect(failures, 'the first try').to.equal(1);
    await until(() => followUp.outcomes.get(waiter.operation.id), { deadlineMs: soonMsMax, what: 'the cancellation' });
    expect(followUp.outcomes.get(waiter.operation.id)).to.have.property('status', 'not-applied');
    expect(asked).to.equal(0);
  });

  /** Cancels a write by tries that `end` in the same way, within a grace of ten seconds; counts them, and the ticks. */
  function tryToCancel(end: () => Promise<unknown>): { tries: number; ticks: number } {
    const startMs = followUp.now();
    performance.now = () => startMs + (followUp.now() - startMs) / 10;
    const counted = { tries: 0, ticks: 0 };
    followUp.cancel = () => {
      counted.tries += 1;
      return end();
    };
    // Another write is looked up at every tick.
    const other = wait();
    followUp.lookUp = () => {
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
    followUp.cancel = async () => {
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
    followUp.cancel = () => Promise.resolve({ outcomes: new Map([[id, { status: 'cancelled' }]]) });
    followUp.cancelAtOnce(given);
    await until(() => followUp.outcomes.get(id), { deadlineMs: soonMsMax, what: 'the cancellation of the last' });
    expect(followUp.outcomes.get(id)).to.have.property('status', 'not-applied');
    expect(followUp.counted.cancelled, 'those alone that were').to.equal(1);
  });

  it('leaves open what could not be cancelled within the grace, and not before, however often that is asked for', async () => {
    let attempts = 0;
    followUp.cancel = () => {
      attempts += 1;
      followUp.cancelAtOnce(followUp.waiters.values());
      return Promise.reject(new Error('Connection terminated'));
    };
    const startedMs = performance.now();
    const { operation } = wait(0);
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    expect(followUp.outcomes.get(operation.id)).to.deep.equal({ status: 'unknown' });
    expect(followUp.counted).to.include({ outcomeUnknown: 1, cancelled: 0 });
    expect(performance.now() - startedMs).to.be.at.least(graceMs);
    expect(attempts).to.be.greaterThan(0);
  });

  /** How often was it tried to cancel in the time of some ticks, during which nobody waits for an answer. */
  async function triesOfTicks(tries: () => number): Promise<number> {
    const before = tries();
    let ticks = 0;
    const other = wait();
    followUp.lookUp = () => {
      ticks += 1;
      other.nextLookUpMs = 0;
      return Promise.resolve({ rows: [] });
    };
    await until(() => ticks >= 3, { deadlineMs: soonMsMax, what: 'some ticks' });
    followUp.waiters.delete(other.operation.id);
    return tries() - before;
  }

  it('cancels later what it had to leave open since a lock was in the way, until it is on record', async () => {
    const { operation } = wait(0);
    let [tries, isFree] = [0, false];
    followUp.cancel = () => {
      tries += 1;
      return Promise.resolve({ outcomes: new Map(isFree ? [[operation.id, { status: 'cancelled' }]] : []) });
    };
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    expect(followUp.outcomes.get(operation.id)).to.deep.equal({ status: 'unknown' });
    expect(await triesOfTicks(() => tries), 'while the lock may soon be gone').to.equal(0);
    performance.now = () => followUp.now() + patienceMs + 1;
    expect(await triesOfTicks(() => tries)).to.be.above(0);
    isFree = true;
    expect(await triesOfTicks(() => tries)).to.be.above(0);
    expect(await triesOfTicks(() => tries), 'once it is on record').to.equal(0);
  });

  it('does not cancel later what it had to leave open since Postgres was away: that waits for a worker', async () => {
    const { operation } = wait(0);
    let tries = 0;
    followUp.cancel = () => {
      tries += 1;
      return Promise.reject(new Error('Connection terminated'));
    };
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the end of the grace' });
    performance.now = () => followUp.now() + patienceMs + 1;
    expect(await triesOfTicks(() => tries)).to.equal(0);
  });

  it('cancels all the same what it comes to late, since the process stood still beyond the grace', async () => {
    const { operation } = wait(-10_000);
    followUp.cancel = () => Promise.resolve({ outcomes: new Map([[operation.id, { status: 'cancelled' }]]) });
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'the cancellation' });
    expect(followUp.outcomes.get(operation.id)).to.have.property('status', 'not-applied');
  });

  it('answers what a cancellation has found also where the process stands still beyond the grace meanwhile', async () => {
    const { operation } = wait(0);
    let answer: ((found: unknown) => void) | undefined;
    followUp.cancel = () => new Promise((resolve) => (answer = resolve));
    await until(() => answer, { deadlineMs: soonMsMax, what: 'the cancellation' });
    // By this clock all of it passes before the answer can be read.
    performance.now = () => followUp.now() + 5 * graceMs;
    await triesOfTicks(() => 0);
    answer?.({ outcomes: new Map([[operation.id, { status: 'cancelled' }]]) });
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'its answer' });
    expect(followUp.outcomes.get(operation.id)).to.have.property('status', 'not-applied');
  });

  it('ends the wait of what never left the process, without asking anybody', async () => {
    followUp.cancel = () => Promise.reject(new Error('nobody is asked'));
    const { operation } = wait(0, false);
    const later = wait(longMs, false);
    await until(() => followUp.outcomes.get(operation.id), { deadlineMs: soonMsMax, what: 'its end' });
    expect(followUp.outcomes.get(operation.id)).to.have.property('status', 'not-applied');
    expect(followUp.waiters.has(later.operation.id)).to.equal(true);
    expect(followUp.counted.lookedUp).to.equal(0);
  });
});
