import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { Gauge, Registry } from 'prom-client';
import { startAdminServer } from '../../../shared/metrics/admin-server.js';
import type { AdminServer } from '../../../shared/metrics/admin-server.js';
import { textUntilClosed } from '../../support/http/raw-exchange.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
/** One Prometheus, or two, and a person who looks. */
const connectionsMax = 64;

describe('the server of an admin port', () => {
  let registry: Registry;
  let server: AdminServer;
  let held: number;
  let sockets: Socket[];
  beforeEach(async () => {
    registry = new Registry();
    [held, sockets] = [0, []];
    const handle = ({ url }: { url?: string | undefined }) => {
      if (url === '/held') held += 1;
      return url === '/held';
    };
    server = await startAdminServer({ host: '127.0.0.1', port: 0, registry, handle });
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  const open = () => {
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    sockets.push(socket);
    return socket.on('error', () => undefined);
  };

  it('ends at once, also beside what it has not answered', async () => {
    const socket = open();
    const closed = textUntilClosed(socket);
    socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => held === 1, { deadlineMs: soonMsMax, what: 'the request' });
    await server.close();
    expect(await closed).to.equal('');
  });

  it('has no more connections than its clients need, and refuses any other', async () => {
    const kept = Array.from({ length: connectionsMax }, open);
    for (const socket of kept) socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => held === connectionsMax, { deadlineMs: soonMsMax, what: 'all requests' });
    const other = open();
    other.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => other.closed, { deadlineMs: soonMsMax, what: 'the other to be refused' });
    expect(kept.some(({ closed }) => closed)).to.equal(false);
    expect(held).to.equal(connectionsMax);
  });

  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${String(server.port)}${path}`, { method });

  it('answers any other method with 405, and says which it takes', async () => {
    for (const path of ['/metrics', '/healthz']) {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const { status, headers } = await ask(path, method);
        expect({ status, allow: headers.get('allow') }, `${method} ${path}`).to.deep.equal({
          status: 405,
          allow: 'GET, HEAD',
        });
      }
      expect((await ask(path, 'HEAD')).status, `HEAD ${path}`).to.equal(200);
    }
  });

  it('serves a path with a query as without one, and none that only begins like it', async () => {
    for (const path of ['/metrics?x', '/healthz?x=1', '/metrics?'])
      expect((await ask(path)).status, path).to.equal(200);
    for (const path of ['/metrics/', '/metricsx', '/']) expect((await ask(path)).status, path).to.equal(404);
  });

  it('says what it hands on, whole, and that nobody is to guess at it or to keep it', async () => {
    new Gauge({ name: 'wax', help: 'Of the shop “Öl”.', registers: [registry] }).set(5);
    const text = { '/metrics': await registry.metrics(), '/healthz': 'ok\n' };
    const types = { '/metrics': registry.contentType, '/healthz': 'text/plain; charset=utf-8' };
    for (const path of ['/metrics', '/healthz'] as const) {
      const answer = await ask(path);
      expect(await answer.text(), path).to.equal(text[path]);
      expect(answer.headers.get('content-type'), path).to.equal(types[path]);
      expect(answer.headers.get('x-content-type-options'), path).to.equal('nosniff');
      expect(answer.headers.get('cache-control'), path).to.equal('no-store');
    }
  });

  it('does not start where its port is taken, and says so', async () => {
    const outcome = startAdminServer({ host: '127.0.0.1', port: server.port, registry });
    expect(await outcome.catch((error: unknown) => error)).to.have.property('code', 'EADDRINUSE');
  });

  it('says 500 where a gauge cannot be read, and goes on', async () => {
    const collect = () => {
      throw new Error('the pool is gone');
    };
    new Gauge({ name: 'broken', help: 'One that cannot be read.', registers: [registry], collect });
    const answer = await ask('/metrics');
    expect(answer.status).to.equal(500);
    expect(await answer.text()).to.equal('The metrics could not be read: the pool is gone\n');
    expect((await ask('/healthz')).status).to.equal(200);
  });
});
