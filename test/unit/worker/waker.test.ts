import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { keys } from '../../../shared/queue/names.js';
import { defineScripts } from '../../../shared/queue/run-script.js';
import { connectWakeRedis } from '../../../shared/redis/connections.js';
import { freePort } from '../../../shared/standalone/ports.js';
import { createWaker } from '../../../worker/waker.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';

/** The pause of the waker, less what a timer may be early. */
const pauseMsMin = 90;
/** Tokens of takes whose answers are said to be lost. */
const lost: string[] = [];
const taker = { newToken: () => 'of this take', answerLost: (token: string) => void lost.push(token) };

describe('the waker of a worker', () => {
  let server: TestRedis;
  before(async () => (server = await startTestRedis()));
  beforeEach(() => void lost.splice(0));
  after(() => server.stop());

  it('lets lanes look now and then while its connection is away, and not as fast as they can', async () => {
    const redis = connectWakeRedis(`redis://127.0.0.1:${String(await freePort())}`, () => undefined);
    defineScripts(redis);
    const waker = createWaker(redis);
    for (let time = 0; time < 3; time += 1) {
      const beganMs = performance.now();
      expect((await waker.take(taker)).materials).to.deep.equal([]);
      expect(performance.now() - beganMs).to.be.greaterThan(pauseMsMin);
    }
    expect(lost, 'what was never sent').to.deep.equal([]);
    await waker.close();
  });

  it('takes for one lane at an announcement, for the one that has waited longest, and lets others wait on', async () => {
    const { redis, pops } = pretendedRedis();
    const waker = createWaker(redis);
    const woken: string[] = [];
    for (const name of ['one', 'two', 'three', 'four']) void waker.take(taker).then(() => woken.push(name));
    for (const expected of [['one'], ['one', 'two']]) {
      pops.shift()?.([keys.wake, '1']);
      await nextTurn();
      expect(woken).to.deep.equal(expected);
      expect(pops, 'one pop at a time').to.have.length(1);
    }
    // Nobody has announced anything for a second: all look by themselves.
    pops.shift()?.(null);
    await nextTurn();
    expect(woken).to.deep.equal(['one', 'two', 'three', 'four']);
    expect(lost).to.deep.equal([]);
    await waker.close();
  });

  it('lets all go on when it is closed, and nobody wait after that, though its connection answers nothing', async () => {
    const waker = createWaker(pretendedRedis().redis);
    const waiting = [waker.take(taker), waker.take(taker)];
    void waker.close();
    await Promise.all([...waiting, waker.take(taker)]);
  });

  // It was, and its worker left before Redis saw the end: what Redis took for it after that waited for four seconds.
  it('is not closed, however often it is asked, while Redis may still take for it', async () => {
    const { redis, pops } = pretendedRedis();
    const waker = createWaker(redis);
    void waker.take(taker);
    let closed = 0;
    const closes = [waker.close(), waker.close()].map((close) => close.then(() => (closed += 1)));
    await nextTurn();
    expect(closed).to.equal(0);
    // Nobody waits any more for what this take has got.
    pops.shift()?.([keys.wake, '1']);
    await Promise.all(closes);
    expect(lost).to.deep.equal(['of this take']);
  });

  it('keeps the process no longer when it is closed again, after its connection has ended', async () => {
    const redis = new Redis(server.url);
    defineScripts(redis);
    const waker = createWaker(redis);
    const woken = waker.take(taker);
    await once(redis, 'ready');
    await Promise.all([waker.close(), woken, once(redis, 'end')]);
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    await waker.close();
    expect(timers()).to.equal(before);
  });
});

/** It has nothing to take, and answers a pop when the test does. */
function pretendedRedis() {
  const pops: ((popped: [string, string] | null) => void)[] = [];
  const redis = {
    blpop: () => new Promise((resolve) => pops.push(resolve)),
    rmAdvance: () => Promise.resolve([0, 0, 0]),
    disconnect: () => undefined,
  };
  return { redis: redis as unknown as Redis, pops };
}
