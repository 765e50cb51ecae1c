import { expect } from 'chai';
import { docsFileNames } from '../../../api/reference/docs-assets.js';
import { expectDocumented } from '../../support/http/documented.js';
import { useHttpService } from '../../support/http/http-service.js';
import { raw, request } from '../../support/http/http.js';
import { parseAnswer } from '../../support/http/raw-exchange.js';
import { expectError } from '../../support/http/reply.js';

describe('GET /docs', () => {
  const http = useHttpService();
  const get = (path: string, headers: Record<string, string> = {}) => request(http.baseUrl, { path, headers });

  it('is a page without script or style of its own, under a policy that lets nothing in from elsewhere', async () => {
    const answer = await get('/docs');
    expect(answer.status).to.equal(200);
    expect(answer.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(answer.text).not.to.match(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    const policy = String(answer.headers['content-security-policy']).split('; ');
    expect(policy).to.include.members(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]);
    expect(policy, 'no other site frames it').to.include("frame-ancestors 'none'");
    expect(policy.join(' ')).not.to.match(/unsafe|https?:|\*/);
    expectDocumented({ path: '/docs' }, answer);
  });

  it('loads only what is served here', async () => {
    const page = await get('/docs');
    const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!);
    expect(addresses).to.have.length.greaterThan(4);
    for (const address of addresses) {
      const { pathname, origin } = new URL(address, `${http.baseUrl}/docs`);
      expect(origin).to.equal(new URL(http.baseUrl).origin);
      const answer = await get(pathname);
      expect(answer.status, address).to.equal(200);
      expectDocumented({ path: pathname }, answer);
    }
  });

  it('keeps no key beyond the page it was pasted into', async () => {
    expect((await get('/docs/init.js')).text).to.match(/^ +persistAuthorization: false,$/m);
  });

  for (const name of docsFileNames) {
    it(`/docs/${name} has its own type, is not guessed at, and is a 304 while it stays`, async () => {
      const answer = await get(`/docs/${name}`);
      const type = { js: 'text/javascript', css: 'text/css', png: 'image/png' }[name.split('.').at(-1)!]!;
      expect(answer.status).to.equal(200);
      expect(answer.headers['content-type']).to.match(new RegExp(`^${type}`));
      expect(answer.headers['x-content-type-options']).to.equal('nosniff');
      expect(Number(answer.headers['content-length'])).to.be.greaterThan(0);
      const again = await get(`/docs/${name}`, { 'if-none-match': answer.headers.etag! });
      expect(again.status).to.equal(304);
    });
  }

  for (const path of [
    '/docs/',
    '/docs/index.html',
    '/docs/package.json',
    '/docs/swagger-initializer.js',
    '/docs/swagger-ui.css.map',
    '/docs/swagger-ui.css/',
    '/docs/swagger%20ui.css',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs//etc/passwd',
    '/docs/swagger-ui.css%00',
    '/docs/constructor',
    '/docs/__proto__',
  ]) {
    it(`${path} is none of its files`, async () => {
      expectError(await get(path), 'UNAUTHORIZED');
    });
  }

  it('a path that climbs out of its folder is none of its files either', async () => {
    const text = await raw(http.port, 'GET /docs/../../package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expectError(parseAnswer(text), 'UNAUTHORIZED');
  });

  it('POST is 405 with Allow', async () => {
    const answer = await request(http.baseUrl, { path: '/docs', method: 'POST' });
    expect(answer.headers.allow).to.equal('GET, HEAD');
    expectError(answer, 'METHOD_NOT_ALLOWED');
  });
});
