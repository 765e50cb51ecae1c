import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { expectData } from '../../support/http/reply.js';

const cases = [
  { path: '/healthz', status: 'ok' },
  { path: '/readyz', status: 'ready' },
];

for (const { path, status } of cases) {
  describe(`GET ${path}: 200`, () => {
    const http = useHttpService();

    it('is for anyone, with a key, with a wrong one and with none', async () => {
      for (const key of [undefined, 'rmk_wrong']) {
        expect(expectData(await http.ask({ path, key }), 'status')).to.deep.equal({ status });
      }
    });

    it('ignores a query', async () => {
      expectData(await http.ask({ path: `${path}?verbose=1&%E0%A4%A` }), 'status');
    });

    it('answers HEAD with the same headers and no body', async () => {
      const [get, head] = [await http.ask({ path }), await http.ask({ method: 'HEAD', path })];
      expect(head.status).to.equal(200);
      expect(head.headers['content-length']).to.equal(get.headers['content-length']);
    });

    it('takes no point of any limit', async () => {
      const { headers } = await http.ask({ path });
      expect(headers).not.to.have.any.keys('ratelimit', 'ratelimit-policy');
    });
  });
}
