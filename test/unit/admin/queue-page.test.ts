import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createQueuePage } from '../../../api/admin/queue-page.js';
import type { QueuePage } from '../../../api/admin/queue-page.js';
import { runShipped, shipped } from '../../support/processes/run-shipped.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

const token = 'a-token:with-a-colon';
const soonMsMax = 15_000;

describe('the connection of the queue page', () => {
  let redisServer: TestRedis;
  let page: QueuePage;
  let server: Server;
  beforeEach(async () => {
    redisServer = await startTestRedis();
    page = createQueuePage({ token, redisUrl: redisServer.url, logger: pino({ level: 'silent' }) });
    server = createServer((req, res) => void page.handle(req, res)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    page.close();
    server.close();
    server.closeAllConnections();
    await redisServer.stop();
  });

  const ask = async () => {
    const authorization = `Basic ${Buffer.from(`anyone:${token}`).toString('base64')}`;
    const { port } = server.address() as AddressInfo;
    return (await fetch(`http://127.0.0.1:${String(port)}/queues`, { headers: { authorization } })).status;
  };
  const untilConnections = async (count: number) => {
    const redis = new Redis(redisServer.url);
    const connections = async () => {
      const clients = (await redis.client('LIST')) as string;
      return [...clients.matchAll(/ name=raw-materials-queue-page /g)].length;
    };
    try {
      await until(async () => (await connections()) === count, {
        deadlineMs: soonMsMax,
        what: `${String(count)} connections of the page`,
      });
    } finally {
      redis.disconnect();
    }
  };

  it('is tried again with the next request where Redis was away at the first', async () => {
    await redisServer.kill();
    expect(await ask()).to.equal(503);
    await redisServer.restart();
    expect(await ask()).to.equal(200);
  });

  it('is given up where Redis stays away, and does not keep the process', async () => {
    await redisServer.kill();
    const { code, signal, stdout } = await runShipped(`
      import { openQueueBoard } from '${shipped('api/admin/queue-board.js')}';
      const logger = { debug: () => undefined };
      await openQueueBoard({ redisUrl: '${redisServer.url}', basePath: '/queues', logger }).catch(({ message }) =>
        console.log(message));`);
    expect({ code, signal }).to.deep.equal({ code: 0, signal: null });
    expect(stdout.join()).to.match(/^Redis did not answer within 5000 ms: .*ECONNREFUSED/);
  });

  it('is closed too where the page is closed while it opens', async () => {
    const asked = ask();
    await once(server, 'request');
    page.close();
    await asked;
    await untilConnections(0);
  });
});
