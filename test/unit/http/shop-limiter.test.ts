import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createShopLimiter } from '../../../api/http/shop-limiter.js';
import type { ShopLimiter } from '../../../api/http/shop-limiter.js';
import { connectLimiterRedis, untilReady } from '../../../shared/redis/connections.js';
import { createLogger } from '../../../shared/runtime/logger.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { standStill } from '../../support/processes/stand-still.js';
import { until } from '../../support/time/until.js';

const windowSeconds = 60;

describe('the limiter of shops', () => {
  let server: TestRedis;
  let redis: ReturnType<typeof connectLimiterRedis>;
  let limiter: ShopLimiter;
  let insured = 0;
  const lines: string[] = [];
  before(async () => {
    server = await startTestRedis();
    redis = connectLimiterRedis(server.url, () => undefined);
    await untilReady(redis);
    limiter = createLimiter();
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });

  const keyOf = (shopId: number) => `raw-materials:limit:${String(shopId)}`;
  const createLimiter = (seconds = windowSeconds) =>
    createShopLimiter({
      redis,
      points: 8,
      windowSeconds: seconds,
      instances: 2,
      logger: createLogger({ name: 'test', level: 'warn', destination: { write: (line) => lines.push(line) } }),
      metrics: { limiterDecided: () => undefined, limiterInsured: (requests: number) => (insured += requests) },
    });

  const takeAtOnce = async (id: number, count: number, rateLimitPoints: number | null = null) => {
    const taken = await Promise.all(Array.from({ length: count }, () => limiter.take({ id, rateLimitPoints })));
    return taken.map(({ admitted, remaining }) => (admitted ? remaining : 'refused'));
  };

  const setRights = (rule: string) => redis.call('ACL', 'SETUSER', 'default', rule);

  it('admits of the requests of one turn the first ones, to the point, each with what it leaves', async () => {
    expect(await takeAtOnce(1, 3)).to.deep.equal([7, 6, 5]);
    expect(await takeAtOnce(1, 7)).to.deep.equal([4, 3, 2, 1, 0, 'refused', 'refused']);
    expect(await takeAtOnce(1, 2)).to.deep.equal(['refused', 'refused']);
  });

  it('counts every shop by itself, also within one turn, each by its own limit', async () => {
    const both = await Promise.all([takeAtOnce(2, 10), takeAtOnce(3, 4, 3)]);
    expect(both).to.deep.equal([
      [7, 6, 5, 4, 3, 2, 1, 0, 'refused', 'refused'],
      [2, 1, 0, 'refused'],
    ]);
  });

  it('counts against the same budget also where some requests of a turn know another limit of the shop yet', async () => {
    const [old, changed] = await Promise.all([takeAtOnce(7, 4, 3), takeAtOnce(7, 2)]);
    expect({ old, changed }).to.deep.equal({ old: [2, 1, 0, 'refused'], changed: [3, 2] });
  });

  it('asks Redis once for a turn, and not at all for a shop that has used its window up', async () => {
    const incremented = async () => Number(await redis.get(keyOf(4)));
    await takeAtOnce(4, 20);
    expect(await incremented()).to.equal(20);
    expect(await takeAtOnce(4, 5)).to.deep.equal(Array(5).fill('refused'));
    expect(await incremented()).to.equal(20);
  });

  it('admits again once the window is over, though the wall clock was set back meanwhile', async () => {
    const take = () => limiter.take({ id: 6, rateLimitPoints: 1 });
    expect((await Promise.all([take(), take()])).map(({ admitted }) => admitted)).to.deep.equal([true, false]);
    const { now } = Date;
    const clock = slowClock(1);
    try {
      Date.now = () => now() - 3_600_000;
      const refused = await take();
      expect(refused.admitted).to.equal(false);
      expect(refused.resetSeconds).to.be.within(1, windowSeconds);
      expect(await redis.pttl(keyOf(6))).to.be.within(1, 1_000 * windowSeconds);
      // The window ends, in Redis and for this process.
      await redis.pexpire(keyOf(6), 1);
      clock.advance(1_000 * windowSeconds);
      await until(async () => (await take()).admitted, { what: 'the next window', deadlineMs: 5_000 });
    } finally {
      clock.restore();
      Date.now = now;
    }
  });

  it('lets no window last longer than one may, though the clock of Redis was set back by an hour meanwhile', async () => {
    const take = () => limiter.take({ id: 10, rateLimitPoints: 1 });
    expect(await take()).to.include({ admitted: true });
    await redis.pexpire(keyOf(10), 3_600_000);
    expect(await take()).to.include({ admitted: false, resetSeconds: windowSeconds });
    expect(await redis.pttl(keyOf(10))).to.be.within(1, 1_000 * windowSeconds);
  });

  it('admits at once when the window is over, though the answer that it is used up lay unread for long', async () => {
    const short = createLimiter(1);
    const take = () => short.take({ id: 11, rateLimitPoints: 1 });
    const taking = Promise.all([take(), take()]);
    // They are counted in the next turn.
    await nextTurn();
    standStill(700);
    expect((await taking).map(({ admitted }) => admitted)).to.deep.equal([true, false]);
    const isOver = async () => (await redis.exists(keyOf(11))) === 0;
    await until(isOver, { what: 'the end of the window', deadlineMs: 5_000 });
    // Redis counts in whole milliseconds.
    await delay(2);
    expect((await take()).admitted).to.equal(true);
  });

  it('says once that Redis refuses to count, and counts in its own memory meanwhile', async () => {
    await setRights('resetkeys');
    try {
      expect([await takeAtOnce(9, 2), await takeAtOnce(9, 2)]).to.deep.equal([
        [3, 2],
        [1, 0],
      ]);
    } finally {
      await setRights('allkeys');
    }
    expect(await takeAtOnce(9, 1), 'by Redis again').to.deep.equal([7]);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.contain('NOPERM').and.to.contain('Redis refuses to count the rate limit.');
  });

  it('says so anew after Redis has counted again', async () => {
    const saidBefore = lines.length;
    await setRights('resetkeys');
    try {
      await takeAtOnce(12, 1);
    } finally {
      await setRights('allkeys');
    }
    expect(lines.slice(saidBefore)).to.have.length(1);
  });

  it('counts in its own memory where Redis refuses to shorten such a window, which ends no process', async () => {
    const take = () => limiter.take({ id: 14, rateLimitPoints: 8 });
    await take();
    await redis.pexpire(keyOf(14), 3_600_000);
    const [insuredBefore, saidBefore] = [insured, lines.length];
    await setRights('-pexpire');
    try {
      expect(await take()).to.include({ admitted: true, remaining: 3 });
    } finally {
      await setRights('+pexpire');
    }
    expect([insured - insuredBefore, lines.length - saidBefore]).to.deep.equal([1, 1]);
    expect(await take(), 'by Redis again').to.include({ remaining: 5, resetSeconds: windowSeconds });
  });

  it('counts in its own memory, by its share, while Redis is away', async () => {
    redis.disconnect();
    const [insuredBefore, saidBefore] = [insured, lines.length];
    expect(await takeAtOnce(5, 6)).to.deep.equal([3, 2, 1, 0, 'refused', 'refused']);
    expect(insured - insuredBefore, 'each request counts').to.equal(6);
    expect(await takeAtOnce(8, 2, 1), 'half a request is one').to.deep.equal([0, 'refused']);
    expect(lines, 'which its connection says').to.have.length(saidBefore);
  });

  it('tells no window longer than it is where the clock was set back while Redis is away', async () => {
    redis.disconnect();
    const take = () => limiter.take({ id: 13, rateLimitPoints: 1 });
    await take();
    const { now } = Date;
    Date.now = () => now() - 3_600_000;
    try {
      expect(await take()).to.deep.include({ admitted: false, resetSeconds: windowSeconds });
    } finally {
      Date.now = now;
    }
  });
});
