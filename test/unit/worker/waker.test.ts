import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createWaker } from '../../../worker/waker.js';
import { startTestRedis } from '../../support/servers.js';
import type { TestRedis } from '../../support/servers.js';

describe('the waker of a worker', () => {
  let server: TestRedis;
  before(async () => (server = await startTestRedis()));
  after(() => server.stop());

  it('keeps the process no longer when it is closed again, after its connection has ended', async () => {
    const redis = new Redis(server.url);
    const waker = createWaker(redis);
    const woken = waker.wait();
    await once(redis, 'ready');
    waker.close();
    await Promise.all([woken, once(redis, 'end')]);
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    waker.close();
    expect(timers()).to.equal(before);
  });
});
