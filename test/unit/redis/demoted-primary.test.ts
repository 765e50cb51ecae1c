import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { connectProducerRedis, untilReady } from '../../../shared/redis/connections.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 15_000;

/**
 * How 6.2 says that a script was refused (scripting.c, evalGenericCommand); 7 says `-READONLY … script: …`. Only the
 * wording is imitated here, because a test machine has one Redis.
 */
const wordings = {
  'Redis 7': (text: string) => text,
  'Redis 6.2': (text: string) =>
    text.replace(
      /-(READONLY [^\r\n]*?) script: (\w+), on @user_script:(\d+)\./,
      (_, words: string, sha: string, line: string) => {
        const place = `@user_script:${line}: @user_script: ${line}`;
        return `-ERR Error running script (call to f_${sha}): ${place}: -${words} `;
      },
    ),
};

describe('a primary that was demoted, and refuses what a script writes', () => {
  let server: TestRedis;
  let proxy: Server;
  let wording: (text: string) => string;
  const sockets = new Set<Socket>();
  before(async () => {
    server = await startTestRedis();
    proxy = createServer((client) => {
      const upstream = createConnection(Number(new URL(server.url).port), '127.0.0.1');
      sockets.add(client).add(upstream);
      client.pipe(upstream).on('data', (bytes: Buffer) => client.write(wording(bytes.toString('latin1')), 'latin1'));
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await server.stop();
  });

  for (const [version, words] of Object.entries(wordings)) {
    it(`is left for whoever its address leads to by now: ${version}`, async () => {
      wording = words;
      const url = new URL(server.url);
      url.port = String((proxy.address() as AddressInfo).port);
      const [operator, redis] = [new Redis(server.url), connectProducerRedis(url.href, () => undefined)];
      let losses = 0;
      redis.on('close', () => (losses += 1));
      const write = () => redis.eval(`return redis.call('SET', KEYS[1], 1)`, 1, 'key');
      try {
        await untilReady(redis);
        await operator.replicaof('127.0.0.1', '1');
        const refusal = await write().catch((error: unknown) => String(error));
        expect(refusal).to.match(
          version === 'Redis 7' ? /^\S+ READONLY / : /^\S+ ERR Error running script .* -READONLY /,
        );
        await until(() => losses === 1, { deadlineMs: soonMsMax, what: 'the connection to be given up' });
        await operator.replicaof('NO', 'ONE');
        await untilReady(redis);
        expect(await write()).to.equal('OK');
      } finally {
        redis.disconnect();
        operator.disconnect();
      }
    });
  }
});
