import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { connectProducerRedis, untilReady } from '../../../shared/redis/connections.js';
import { until } from '../../support/time/until.js';

/** Below the 10 s for which ioredis by itself would leave it alone. */
const soonMsMax = 5_000;

describe('a Redis that still reads its file', () => {
  let isLoading: boolean;
  let asked: number;
  let server: Server;
  let redis: Redis;

  /** Says that a minute is left, as one does after the first of many bytes. */
  const info = () => `redis_version:7.0.15\r\nloading:${isLoading ? '1\r\nloading_eta_seconds:60' : '0'}\r\n`;

  beforeEach(async () => {
    isLoading = true;
    asked = 0;
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.setEncoding('utf8').on('data', (text: string) => {
        for (const command of text.split(/^\*\d+\r\n/m).slice(1)) {
          const isInfo = /^\$4\r\ninfo\r\n/i.test(command);
          if (isInfo) asked += 1;
          socket.write(isInfo ? `$${info().length}\r\n${info()}\r\n` : '+OK\r\n');
        }
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    redis = connectProducerRedis(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`, () => undefined);
  });
  afterEach(async () => {
    redis.disconnect();
    server.close();
    await once(server, 'close');
  });

  it('is used as soon as it has, whatever time it had thought that would take', async () => {
    await until(() => asked > 0, { deadlineMs: soonMsMax, what: 'the first question' });
    isLoading = false;
    await until(() => redis.status === 'ready', { deadlineMs: soonMsMax, what: 'a Redis that is ready' });
  });

  it('is said to be there, where a process that starts has waited long enough for it', async () => {
    const refusal = await untilReady(redis).catch((error: unknown) => error);
    expect(refusal).to.have.property('message').that.contains('it is there, and may still be loading its file');
  });
});
