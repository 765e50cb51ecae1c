import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { createApiMetrics } from '../../../api/admin/api-metrics.js';
import { createAppServer } from '../../../api/app.js';
import type { ApiServer } from '../../../api/http/connections/server.js';
import { apiSettings } from '../../../api/config.js';
import { notApplied } from '../../../api/dispatch/dispatch-outcome.js';
import type { Reads } from '../../../api/reads.js';
import { connectLimiterRedis, untilReady } from '../../../shared/redis/connections.js';
import { createLogger } from '../../../shared/runtime/logger.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import { useDatabase } from '../../support/database/database.js';
import { parseAnswers } from '../../support/http/raw-exchange.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { createTestShop } from '../../support/shop/shop.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

describe('the server with the app in it', () => {
  const postgres = useDatabase();
  let redisServer: TestRedis;
  let limiterRedis: Redis;
  let server: ApiServer;
  let port: number;
  before(async () => {
    redisServer = await startTestRedis();
    limiterRedis = connectLimiterRedis(redisServer.url, () => undefined);
    await untilReady(limiterRedis);
    const read = readSettings(apiSettings, { DATABASE_URL: postgres.url, REDIS_URL: redisServer.url });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    server = createAppServer({
      settings: read.values,
      logger: createLogger({ name: 'api', level: 'silent', nodeEnv: 'test' }),
      metrics: createApiMetrics(),
      database: postgres.database,
      reads: { addUnread: () => () => undefined } as unknown as Reads,
      dispatch: {
        submit: () => Promise.resolve(notApplied('Full.')),
        // So every connection waits for its turn behind its answer.
        inHandMax: () => 0,
        ready: () => ({ postgres: true, redis: true, worker: true }),
      },
      limiterRedis,
      platform: { readLevels: () => Promise.reject(new Error('not asked')) } as never,
      openPlatformShop: () => ({ ok: false, error: 'not-connected' }),
    });
    port = await server.listen(0, '127.0.0.1');
  });
  after(async () => {
    limiterRedis.disconnect();
    await redisServer.stop();
  });

  it('reads connections that wait for their turn as soon as it closes: what came on them is answered', async () => {
    const shop = await createTestShop(postgres.database);
    const body = `{"updates":[{"locationId":"${shop.locationIds[0] ?? ''}","delta":1}]}`;
    const change =
      `PATCH /v1/raw-materials/${shop.materialIds[0] ?? ''}/inventory HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: Bearer ${shop.writeKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${String(body.length)}\r\n\r\n${body}`;
    // The turn that comes in any case must not come before an idle connection is closed.
    const clock = slowClock(30);
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    try {
      const answered = (count: number) => () => parseAnswers(text).length === count;
      socket.write(change);
      await until(answered(1), { deadlineMs: 5_000, what: 'the first answer' });
      await new Promise((resolve) => socket.write(change, resolve));
      const closed = once(socket, 'close');
      await server.close();
      await closed;
      expect(parseAnswers(text).map(({ status, headers }) => [status, headers['connection']])).to.deep.equal([
        [503, 'keep-alive'],
        [503, 'close'],
      ]);
    } finally {
      clock.restore();
      socket.destroy();
    }
  });
});
