import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { closeConnections, hasIdleConnection, request } from '../../support/http/http.js';
import { slowClock } from '../../support/time/slow-clock.js';

describe('a request of the tests', () => {
  it('that is not answered in time says so, and has no code, since its connection did not break', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const outcome = await request(baseUrl, { path: '/never', deadlineMs: 100 }).catch((error: unknown) => error);
    expect(outcome).to.be.an('error').with.property('message', 'GET /never: no answer within 100 ms');
    expect(outcome).not.to.have.property('code');
    closeConnections(baseUrl);
    await new Promise((resolve) => silent.close(resolve));
  });

  it('leaves a connection to be trusted, unless by its answer an API told to stop would close it', async () => {
    let passesMs = 0;
    const clock = slowClock(100);
    const server = createHttpServer((_, response) => {
      clock.advance(passesMs);
      response.writeHead(404, { 'content-length': 0 }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect(hasIdleConnection(baseUrl)).to.equal(false);
      await request(baseUrl, { method: 'HEAD', path: '/nowhere' });
      expect(hasIdleConnection(baseUrl)).to.equal(true);
      passesMs = 900;
      await request(baseUrl, { method: 'HEAD', path: '/nowhere' });
      expect(hasIdleConnection(baseUrl)).to.equal(false);
    } finally {
      clock.restore();
      closeConnections(baseUrl);
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
