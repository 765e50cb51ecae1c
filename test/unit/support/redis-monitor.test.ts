import { expect } from 'chai';
import { Redis } from 'ioredis';
import { monitorRedis } from '../../support/redis/redis-monitor.js';
import type { SeenCommand } from '../../support/redis/redis-monitor.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';

describe('monitorRedis', () => {
  let server: TestRedis;
  let redis: Redis;
  before(async () => {
    server = await startTestRedis();
    redis = new Redis(server.url, { retryStrategy: () => null });
    // Until this is answered, the client asks questions of its own.
    await redis.ping();
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });

  /** What the monitor sees of it. */
  const seenOf = async (act: () => Promise<unknown>): Promise<SeenCommand[]> => {
    const seen: SeenCommand[] = [];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const monitor = await monitorRedis(server.url, (command) => {
      if (command.args[0] === 'the end') end();
      else seen.push(command);
    });
    await act();
    await redis.echo('the end');
    await ended;
    monitor.stop();
    return seen;
  };

  it('shows the words of each command, and who sent it', async () => {
    const seen = await seenOf(() => redis.set('a "key"', 'with \\ and " "'));
    expect(seen.map(({ name, args }) => [name, ...args])).to.deep.equal([['set', 'a "key"', 'with \\ and " "']]);
    expect(seen[0]?.source).to.match(/^127\.0\.0\.1:\d+$/);
  });

  it('tells what a script calls from the script', async () => {
    const seen = await seenOf(() => redis.eval("return redis.call('GET', KEYS[1])", 1, 'a'));
    expect(seen.map(({ name, source }) => [name, source === 'lua'])).to.deep.equal([
      ['eval', false],
      ['get', true],
    ]);
  });

  it('begins beside others that send without a pause', async () => {
    const over = new AbortController();
    const others = (async () => {
      while (!over.signal.aborted) await Promise.all(Array.from({ length: 50 }, () => redis.get('busy')));
    })();
    for (let round = 0; round < 50; round++) {
      const seen = await seenOf(() => redis.get(`round ${String(round)}`));
      expect(seen.some(({ args }) => args[0] === `round ${String(round)}`)).to.equal(true);
    }
    over.abort();
    await others;
  });

  it('says why it cannot', async () => {
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    let message = '';
    await monitorRedis(wrong.href, () => undefined).catch((error: unknown) => (message = (error as Error).message));
    expect(message).to.match(/^Redis cannot be watched: -WRONGPASS /);
  });
});
