import { expect } from 'chai';
import { request } from '../support/http/http.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';

const deadlineMs = 5_000;

describe('the admin port', () => {
  let service: Service;
  before(async () => (service = await startService({ workers: 0, apiEnv: { ADMIN_PORT: '0' } })));
  after(() => service.stop());
  const adminUrl = () => service.apis[0]?.adminUrl ?? '';

  it('answers to GET and HEAD of two paths, and to nothing else', async () => {
    const ask = async (method: string, path: string) => (await fetch(`${adminUrl()}${path}`, { method })).status;
    expect(await ask('GET', '/healthz')).to.equal(200);
    expect(await ask('HEAD', '/metrics')).to.equal(200);
    expect(await ask('POST', '/metrics')).to.equal(405);
    expect(await ask('GET', '/v1/raw-materials')).to.equal(404);
    expect(await ask('GET', '/queues')).to.equal(404);
  });

  it('is not the port of the API, which has no metrics', async () => {
    expect((await request(service.baseUrls[0] ?? '', { path: '/metrics' })).status).to.equal(401);
  });

  it('is on 127.0.0.1 alone unless it is told otherwise', async () => {
    const { port } = new URL(adminUrl());
    // Whoever listens on every address answers there too, but on macOS, where this is no address of the machine.
    const ask = fetch(`http://127.0.0.2:${port}/healthz`, { signal: AbortSignal.timeout(deadlineMs) });
    expect(await ask.catch(() => 'nobody')).to.equal('nobody');
  });

  it('is there only where it is asked for', async () => {
    expect((await service.startApi({ ADMIN_PORT: undefined })).adminUrl).to.equal(undefined);
  });
});
