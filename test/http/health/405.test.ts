import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { expectError } from '../../support/http/reply.js';

describe('/healthz and /readyz: 405', () => {
  const http = useHttpService();

  for (const path of ['/healthz', '/readyz']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      it(`${method} ${path}`, async () => {
        const answer = await http.ask({ method, path });
        expectError(answer, 'METHOD_NOT_ALLOWED');
        expect(answer.headers['allow']).to.equal('GET, HEAD');
      });
    }
  }
});
