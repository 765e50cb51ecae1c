import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { freePort } from '../../shared/standalone/ports.js';
import { useDatabase } from '../support/database/database.js';
import { runShipped, shipped } from '../support/processes/run-shipped.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startProcess, stopProcess } from '../support/processes/service-process.js';
import { until } from '../support/time/until.js';

describe('a process that starts without one of its servers', () => {
  const own = useDatabase();
  let redis: TestRedis;
  let nowhere: string;
  before(async () => {
    redis = await startTestRedis();
    nowhere = `127.0.0.1:${String(await freePort())}`;
  });
  after(() => redis.stop());

  /** How it ended, and what it said. */
  const endOf = async (kind: 'api' | 'worker', env: Record<string, string>): Promise<string> => {
    const given = { DATABASE_URL: own.url, REDIS_URL: redis.url, PORT: '0', ...env };
    const ended = await startProcess(kind, given).catch((error: unknown) => (error as Error).message);
    if (typeof ended === 'string') return ended;
    await stopProcess(ended);
    return 'it started';
  };
  const expectUnavailable = (said: string, reason: string) => {
    expect(said).to.include('ended ({"code":69,"signal":null})');
    expect(said).to.include('a server that is needed is not there').and.to.include(reason);
    expect(said).not.to.include('a fault that nobody caught');
    expect(said).to.include('"reason":"it cannot start"').and.not.to.include('unhandledRejection');
  };

  for (const kind of ['api', 'worker'] as const) {
    it(`ends with 69 where Redis is not there: ${kind}`, async () => {
      const said = await endOf(kind, { REDIS_URL: `redis://${nowhere}` });
      expectUnavailable(said, `Redis did not answer within 5000 ms: connect ECONNREFUSED ${nowhere}`);
    });
  }

  // Until the limiter's is there, it would count in memory, and admit more than the limit.
  for (const [kind, name] of [
    ['api', 'limiter'],
    ['worker', 'wake'],
  ] as const) {
    it(`ends with 69 where Redis is there, but not for its connection ${name}: ${kind}`, async () => {
      const without = await redisWithout(redis, `raw-materials-${name}`);
      const said = await endOf(kind, { REDIS_URL: without.url });
      await without.close();
      expectUnavailable(said, 'Redis did not answer within 5000 ms: ');
    });
  }

  describe('that is there, but takes no writes: a Redis without its replica', () => {
    let admin: Redis;
    const askFor = (replicas: number) => admin.config('SET', 'min-replicas-to-write', String(replicas));
    beforeEach(async () => {
      admin = new Redis(redis.url);
      await admin.config('RESETSTAT');
      await askFor(1);
    });
    afterEach(async () => {
      await askFor(0);
      admin.disconnect();
    });

    it('waits for it: worker', async () => {
      const ended = endOf('worker', {});
      const isRefused = async () => (await admin.info('errorstats')).includes('NOREPLICAS');
      await until(isRefused, { deadlineMs: 20_000, what: 'its first write to be refused' });
      await askFor(0);
      expect(await ended).to.equal('it started');
    });

    it('ends with 69 where that lasts: worker', async () => {
      expectUnavailable(await endOf('worker', {}), 'Redis takes no writes: NOREPLICAS');
    });
  });

  for (const [kind, signal] of [
    ['api', 'SIGTERM'],
    ['worker', 'SIGTERM'],
    // Of a terminal that closes.
    ['api', 'SIGHUP'],
    ['worker', 'SIGHUP'],
  ] as const) {
    it(`ends with 0, and with no fault, where it is told to stop meanwhile: ${kind}, ${signal}`, async () => {
      const env = { DATABASE_URL: `postgres://x@${nowhere}/x`, REDIS_URL: `redis://${nowhere}`, PORT: '0' };
      const ended = await runShipped(`await import('${shipped(`${kind}/main.js`)}');`, {
        env,
        // The first thing it has to say is that Redis is not there. Once: a second one that comes late ends it at once.
        onLine: (_line, child) => child.killed || child.kill(signal),
      });
      expect(ended, ended.stdout.join('\n')).to.include({ code: 0, signal: null });
      expect(ended.stdout.at(-1)).to.include('"closed"');
      expect(ended.stdout.join('\n')).not.to.include('"level":60');
    });
  }

  it('ends with 69 where Postgres does not let it in: worker', async () => {
    const stranger = new URL(own.url);
    stranger.password = 'not-the-password';
    const said = await endOf('worker', { DATABASE_URL: stranger.href });
    expectUnavailable(said, 'Postgres cannot be used: password authentication failed');
    const fatal = said.split('\n').find((line) => line.includes('"level":60')) ?? '{}';
    const { message } = (JSON.parse(fatal) as { err: { message: string } }).err;
    expect(message.split('authentication failed'), 'the reason, once').to.have.lengthOf(2);
    expect(said).not.to.include(stranger.password);
  });
});

/** Leads to that Redis, except for connections of this name, which are ended as soon as they tell it. */
async function redisWithout({ url }: TestRedis, name: string): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    const end = () => [client, server].forEach((socket) => socket.destroy());
    for (const socket of [client, server]) sockets.push(socket.on('error', end).on('close', end));
    client.on('data', (data) => (data.includes(name) ? end() : server.write(data)));
    server.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${(proxy.address() as AddressInfo).port}` }).href,
    async close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
