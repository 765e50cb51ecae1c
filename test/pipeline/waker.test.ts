import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { leaseMs } from '../../shared/queue/leases.js';
import type { Held } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { connectWakeRedis, untilReady } from '../../shared/redis/connections.js';
import { createWaker } from '../../worker/waker.js';
import type { Waker } from '../../worker/waker.js';
import { standStill } from '../support/processes/stand-still.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
/** After so long without an announcement, the lanes look by themselves. */
const waitMsMax = 1_000;
/** The pause of the waker where Redis refuses it, less what a timer may be early. */
const pauseMsMin = 90;
/** What a cycle holds at most. */
const takenMax = 32;
/** Tokens of takes whose answers are said to be lost. */
const lost: string[] = [];
const taker = { newToken: () => 'of this take', answerLost: (token: string) => void lost.push(token) };

describe('a lane that waits for work', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const queue = queueName(ref);
  let redis: Redis;
  let waker: Waker;
  beforeEach(async () => {
    lost.splice(0);
    redis = connectWakeRedis(harness.server.url, () => undefined);
    await untilReady(redis);
    defineScripts(redis);
    waker = createWaker(redis);
  });
  afterEach(() => waker.close());

  const isBlocked = async () => (await harness.redis.info('clients')).includes('blocked_clients:1\r\n');
  const isTaken = async () => (await harness.redis.hget(keys.leases, queue)) === 'of this take';

  /** A lane that is seen to wait; another where the machine stood still for as long as that waited. */
  async function oneWaits(): Promise<{ taking: Promise<Held>; beganMs: number }> {
    for (;;) {
      const beganMs = performance.now();
      const taking = waker.take(taker);
      let isDone = false;
      void taking.then(() => (isDone = true));
      const seen = await until(async () => ((await isBlocked()) ? 'waiting' : isDone && 'done'), {
        deadlineMs: soonMsMax,
        what: 'the lane to wait',
      });
      if (seen === 'waiting') return { taking, beganMs };
      expect(performance.now() - beganMs, 'as long as it waits').to.be.at.least(waitMsMax);
    }
  }

  /** What a lane has that waited when `act` was run; again with another where the machine stood still for a second. */
  async function takeAt(act: () => Promise<unknown>): Promise<Held> {
    for (;;) {
      const { taking, beganMs } = await oneWaits();
      await act();
      const held = await taking;
      if (held.materials.length > 0 || performance.now() - beganMs < waitMsMax) return held;
      await harness.redis.flushdb();
    }
  }

  /**
   * A lane whose take Redis has run, while its answer is not read; again with another where the machine stood still for
   * a second, since by then Redis may have run the take before there was anything.
   */
  async function takeUnread(): Promise<{ taking: Promise<Held> }> {
    for (;;) {
      const { taking, beganMs } = await oneWaits();
      redis.stream.pause();
      await harness.add(ref);
      const mayBeLate = performance.now() - beganMs >= waitMsMax;
      await until(async () => mayBeLate || (await isTaken()), { deadlineMs: soonMsMax, what: 'the take' });
      if (await isTaken()) return { taking };
      const closed = once(redis, 'close');
      redis.stream.destroy();
      await Promise.all([closed, taking]);
      await untilReady(redis);
      await harness.redis.flushdb();
      lost.splice(0);
    }
  }

  it('has what is announced with the announcement: under a lease, with its jobs, and their age', async () => {
    let id = '';
    const { materials, nowMs } = await takeAt(async () => (id = await harness.add(ref)));
    expect(materials.map(({ jobs, ...lease }) => [lease, jobs.map((job) => job.id)])).to.deep.equal([
      [{ queue, token: 'of this take' }, [id]],
    ]);
    expect(await isTaken()).to.equal(true);
    const [seconds] = await harness.redis.time();
    expect(nowMs()).to.be.greaterThan((Number(seconds) - 1) * 1_000);
  });

  it('reckons the age of that from before: the answer may lie unread in a process that stands still', async () => {
    const { materials, nowMs } = await takeAt(async () => {
      await harness.add(ref, { isAnnounced: false });
      void harness.announce(ref);
      await nextTurn();
      standStill(500);
    });
    const readMs = nowMs();
    expect(materials).to.have.lengthOf(1);
    const takenMs = Number(await harness.redis.zscore(keys.scheduled, queue)) - leaseMs;
    expect(readMs - takenMs).to.be.at.least(500);
  });

  it('has no more than a cycle holds, and another hears of the rest', async () => {
    const refs = Array.from({ length: takenMax + 1 }, (_, i) => ({ shopId: 1, materialId: `VMAT-VAR-${String(i)}` }));
    for (const each of refs) await harness.add(each);
    const { materials } = await waker.take(taker);
    expect(materials.map((material) => material.queue)).to.deep.equal(refs.slice(0, takenMax).map(queueName));
    expect(await harness.redis.llen(keys.wake)).to.equal(1);
  });

  it('has it also from a Redis that has forgotten its scripts', async () => {
    await waker.take(taker);
    const { materials } = await takeAt(async () => {
      await harness.add(ref, { isAnnounced: false });
      await harness.redis.script('FLUSH');
      await harness.announce(ref);
    });
    expect(materials).to.have.lengthOf(1);
    // A new connection sends them anew; within a transaction nothing else would.
    const closed = once(harness.redis, 'close');
    harness.redis.disconnect(true);
    await closed;
    await untilReady(harness.redis);
  });

  it('has what is ready, but only after a pause, where Redis refuses to wait', async () => {
    await harness.add(ref);
    await harness.redis.set(keys.wake, 'no list');
    const found: number[] = [];
    for (let time = 0; time < 3; time += 1) {
      const beganMs = performance.now();
      found.push((await waker.take(taker)).materials.length);
      expect(performance.now() - beganMs).to.be.greaterThan(pauseMsMin);
    }
    expect(found).to.deep.equal([1, 0, 0]);
  });

  it('goes on with nothing, and says so, where the connection was lost after Redis had run the take', async () => {
    const { taking } = await takeUnread();
    redis.stream.destroy();
    expect((await taking).materials).to.deep.equal([]);
    expect(lost).to.deep.equal(['of this take']);
  });

  it('goes on with nothing where its worker is closed', async () => {
    const { taking } = await oneWaits();
    const [held] = await Promise.all([taking, waker.close()]);
    expect(held.materials).to.deep.equal([]);
    expect(await isBlocked()).to.equal(false);
    await harness.add(ref);
    expect(await isTaken()).to.equal(false);
  });
});
