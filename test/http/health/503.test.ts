import { expect } from 'chai';
import { useWorkerlessService } from '../../support/http/http-service.js';
import { expectData, expectError } from '../../support/http/reply.js';

describe('GET /readyz: 503', () => {
  const http = useWorkerlessService();

  it('no worker is alive: not ready, and says so; the process is well', async () => {
    const answer = await http.ask({ path: '/readyz' });
    expect(expectError(answer, 'SERVICE_UNAVAILABLE').message).to.match(/worker/);
    const head = await http.ask({ method: 'HEAD', path: '/readyz' });
    expect(head.status).to.equal(503);
    expectData(await http.ask({ path: '/healthz' }), 'status');
  });
});
