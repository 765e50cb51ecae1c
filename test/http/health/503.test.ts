import { expect } from 'chai';
import { useWorkerlessService } from '../../support/http/http-service.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { until } from '../../support/time/until.js';

describe('GET /readyz: 503', () => {
  const http = useWorkerlessService();

  it('no worker is alive: not ready, and says so; the process is well', async () => {
    const answer = await http.ask({ path: '/readyz' });
    expect(expectError(answer, 'SERVICE_UNAVAILABLE').message).to.match(/worker/);
    const head = await http.ask({ method: 'HEAD', path: '/readyz' });
    expect(head.status).to.equal(503);
    expectData(await http.ask({ path: '/healthz' }), 'status');
  });

  it('no worker is alive, nor has been since the process began: its log says so once', async () => {
    const told = () => http.service.apis[0]?.logs().filter((line) => line.includes('The queue is not served.')) ?? [];
    await until(() => told().length > 0, { deadlineMs: 20_000, what: 'the line' });
    expect(told()).to.have.length(1);
  });
});
