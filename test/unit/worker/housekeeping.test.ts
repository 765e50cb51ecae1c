import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { materialsPerCycleMax } from '../../../shared/queue/limits.js';
import { queueName } from '../../../shared/queue/names.js';
import { createWorkerPresence } from '../../../shared/queue/worker-presence.js';
import { startHousekeeping } from '../../../worker/housekeeping.js';
import type { Housekeeping } from '../../../worker/housekeeping.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;

describe('the housekeeping of a worker', () => {
  // Also stops what a failed test has left running, or mocha would wait for it.
  const started: Housekeeping[] = [];
  afterEach(async () => {
    for (const housekeeping of started.splice(0)) await housekeeping.stop();
  });

  /** How often each was done; what it resolves with is up to the test. */
  function start(sweep?: () => Promise<unknown>, leave?: () => Promise<unknown>) {
    const done = { beat: 0, sweep: 0, bury: 0, leave: 0 };
    const count = async (name: keyof typeof done, answer?: () => Promise<unknown>): Promise<void> => {
      done[name] += 1;
      await answer?.();
    };
    const presence = {
      newToken: () => '',
      answerLost: () => undefined,
      databaseIdentity: () => undefined,
      assertServes: () => undefined,
      tellCutOff: () => Promise.resolve(),
      beat: () => count('beat'),
      buryGone: () => count('bury'),
      leave: () => count('leave', leave),
    };
    const redis = { rmSweep: () => count('sweep', sweep) } as unknown as Redis;
    const housekeeping = startHousekeeping({ redis, presence, logger: pino({ level: 'silent' }) });
    started.push(housekeeping);
    return { done, housekeeping };
  }

  it('beats, sweeps and buries again and again, and stops with its worker, which leaves', async () => {
    const { done, housekeeping } = start();
    await until(() => done.beat > 1 && done.sweep > 1 && done.bury > 1, { deadlineMs: soonMsMax, what: 'two rounds' });
    expect(done.leave).to.equal(0);
    await housekeeping.stop();
    const { beat, sweep, bury } = done;
    const other = start();
    await until(() => other.done.beat > 1, { deadlineMs: soonMsMax, what: 'two rounds of another worker' });
    await other.housekeeping.stop();
    expect(done).to.deep.equal({ beat, sweep, bury, leave: 1 });
  });

  it('goes on after a round that failed, and never runs one beside itself', async () => {
    let end: () => void = () => undefined;
    const fail = () => Promise.reject(new Error('Connection is closed.'));
    const hang = () => new Promise<void>((resolve) => (end = resolve));
    let answer: () => Promise<unknown> = fail;
    const { done, housekeeping } = start(() => answer());
    await until(() => done.sweep > 2, { deadlineMs: soonMsMax, what: 'sweeps after one that failed' });
    answer = hang;
    const before = done.sweep;
    await until(() => done.sweep > before, { deadlineMs: soonMsMax, what: 'a sweep that takes long' });
    const { beat } = done;
    await until(() => done.beat > beat + 1, { deadlineMs: soonMsMax, what: 'a second' });
    expect(done.sweep).to.equal(before + 1);
    end();
    await until(() => done.sweep > before + 1, { deadlineMs: soonMsMax, what: 'the sweep after it' });
    end();
    await housekeeping.stop();
  });

  it('stops where Redis is away and it cannot leave, and waits all the same for the round under way', async () => {
    let end: () => void = () => undefined;
    const hang = () => new Promise<void>((resolve) => (end = resolve));
    const { done, housekeeping } = start(hang, () => Promise.reject(new Error('Connection is closed.')));
    await until(() => done.sweep > 0, { deadlineMs: soonMsMax, what: 'a sweep that takes long' });
    let isStopped = false;
    const stopped = housekeeping.stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect({ left: done.leave, isStopped }).to.deep.equal({ left: 1, isStopped: false });
    end();
    await stopped;
  });
});

describe('the sweep of a worker', () => {
  const harness = useQueueHarness();

  it('brings back in one round all that a worker of two lanes held', async () => {
    const held = 2 * materialsPerCycleMax;
    const refs = Array.from({ length: held }, (_, index) => ({ shopId: 1, materialId: `VMAT-VAR-${index}` }));
    for (const ref of refs) await harness.add(ref);
    expect(await harness.take(held)).to.have.length(held);
    for (const ref of refs) await harness.runOut(queueName(ref));
    const presence = await createWorkerPresence(harness.redis);
    const housekeeping = startHousekeeping({ redis: harness.redis, presence, logger: pino({ level: 'silent' }) });
    try {
      const ready = async () => (await harness.ready(1)).length || undefined;
      expect(await until(ready, { deadlineMs: soonMsMax, what: 'a sweep' })).to.equal(held);
    } finally {
      await housekeeping.stop();
    }
  });
});
