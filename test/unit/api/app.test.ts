import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { createApiMetrics } from '../../../api/admin/api-metrics.js';
import { createAppServer } from '../../../api/app.js';
import type { ApiServer } from '../../../api/http/connections/server.js';
import { apiSettings } from '../../../api/config.js';
import { notApplied } from '../../../api/dispatch/dispatch-outcome.js';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import type { Reads } from '../../../api/reads.js';
import { connectLimiterRedis, untilReady } from '../../../shared/redis/connections.js';
import { createLogger } from '../../../shared/runtime/logger.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import { useDatabase } from '../../support/database/database.js';
import { closeConnections, request } from '../../support/http/http.js';
import { listPath } from '../../support/http/material-paths.js';
import { parseAnswers } from '../../support/http/raw-exchange.js';
import { resetSocket } from '../../support/http/reset-socket.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

describe('the server with the app in it', () => {
  const postgres = useDatabase();
  let redisServer: TestRedis;
  let limiterRedis: Redis;
  let server: ApiServer;
  let port: number;
  /** What the log has, as it came. */
  const lines: string[] = [];
  /** What becomes of a change. */
  let submit: () => Promise<DispatchOutcome>;
  beforeEach(() => {
    lines.length = 0;
    submit = () => Promise.resolve(notApplied('Full.'));
  });
  before(async () => {
    redisServer = await startTestRedis();
    limiterRedis = connectLimiterRedis(redisServer.url, () => undefined);
    await untilReady(limiterRedis);
    const read = readSettings(apiSettings, { DATABASE_URL: postgres.url, REDIS_URL: redisServer.url });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    server = createAppServer({
      settings: read.values,
      logger: createLogger({ name: 'api', level: 'debug', destination: { write: (line) => lines.push(line) } }),
      metrics: createApiMetrics(),
      database: postgres.database,
      reads: {
        addUnread: () => () => undefined,
        ask: () => Promise.reject(new Error('a fault of ours')),
      } as unknown as Reads,
      dispatch: {
        submit: () => submit(),
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

  function changeOf({ materialIds: [id = ''], locationIds: [locationId = ''], writeKey }: TestShop): string {
    const body = `{"updates":[{"locationId":"${locationId}","delta":1}]}`;
    return (
      `PATCH /v1/raw-materials/${id}/inventory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${writeKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`
    );
  }

  it('logs a fault with the route that met it, and the tool where an agent called one', async () => {
    const { readKey: key, materialIds } = await createTestShop(postgres.database);
    const baseUrl = `http://127.0.0.1:${String(port)}`;
    const params = { name: 'get_raw_material', arguments: { variantId: materialIds[0] } };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    expect((await request(baseUrl, { path: listPath, key })).status).to.equal(500);
    expect((await request(baseUrl, { method: 'POST', path: '/mcp', key, body })).text).to.contain('INTERNAL_ERROR');
    const faults = lines.map((line) => JSON.parse(line) as { msg: string; route?: string });
    expect(faults.filter(({ msg }) => msg === 'A request met a fault.').map(({ route }) => route)).to.deep.equal([
      listPath,
      '/mcp get_raw_material',
    ]);
    closeConnections(baseUrl);
  });

  it('does not call it a fault that a client went away before its answer', async () => {
    const shop = await createTestShop(postgres.database);
    let answer: (outcome: DispatchOutcome) => void = () => undefined;
    let isAsked = false;
    submit = () => {
      isAsked = true;
      return new Promise((resolve) => (answer = resolve));
    };
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(changeOf(shop));
    await until(() => isAsked, { deadlineMs: 5_000, what: 'the change' });
    resetSocket(socket);
    const told = () => lines.map((line) => JSON.parse(line) as { level: number; msg: string });
    await until(() => told().some(({ msg }) => msg === 'An answer did not reach its client.'), {
      deadlineMs: 5_000,
      what: 'the log to have it',
    });
    answer(notApplied('Full.'));
    await until(() => told().some(({ msg }) => msg === 'answered with a server error'), {
      deadlineMs: 5_000,
      what: 'the end of the request',
    });
    expect(told().filter(({ level }) => level >= 50)).to.deep.equal([]);
  });

  it('reads connections that wait for their turn as soon as it closes: what came on them is answered', async () => {
    const shop = await createTestShop(postgres.database);
    const change = changeOf(shop);
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
