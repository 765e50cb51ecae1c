import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { closeConnections, request } from '../../support/http/http.js';

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
});
