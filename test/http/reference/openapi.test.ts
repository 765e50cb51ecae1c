import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import { document, expectDocumented } from '../../support/http/documented.js';
import { expectError } from '../../support/http/reply.js';

const path = '/openapi.json';

describe('GET /openapi.json', () => {
  const http = useHttpService();
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    request(http.baseUrl, { path, method, headers });

  it('is the document, for anyone, and outside of the envelope', async () => {
    const answer = await get();
    expect(answer.status).to.equal(200);
    expect(answer.headers['content-type']).to.equal('application/json; charset=utf-8');
    expect(answer.body).to.deep.equal(JSON.parse(JSON.stringify(document)));
    expectDocumented({ path }, answer);
  });

  it('has a request id like every answer, and headers that let it be kept and asked for again', async () => {
    const { headers } = await get();
    expect(headers).to.include({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
    expect(headers).to.include({ 'x-content-type-options': 'nosniff' });
    expect(headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/);
    expect(headers.etag).to.match(/^W\/"[0-9a-f]{16}"$/);
  });

  for (const how of ['the tag', 'a list with the tag', 'any tag'] as const) {
    it(`is 304 without a body while a kept copy is the same, asked with ${how}`, async () => {
      const tag = (await get()).headers.etag!;
      const header = { 'the tag': tag, 'a list with the tag': `"x", ${tag.slice(2)}`, 'any tag': '*' }[how];
      const answer = await get({ 'if-none-match': header });
      expect(answer.status).to.equal(304);
      expect(answer.text).to.equal('');
      expect(answer.headers.etag).to.equal(tag);
      expectDocumented({ path }, answer);
    });
  }

  it('is sent whole to who has another copy', async () => {
    expect((await get({ 'if-none-match': 'W/"0000000000000000"' })).status).to.equal(200);
  });

  it('comes compressed to who accepts it so, and is the same then', async () => {
    const { origin } = new URL(http.baseUrl);
    const plain = await get({ 'accept-encoding': 'identity' });
    expect(plain.headers['content-encoding']).to.equal(undefined);
    expect((await get({ 'accept-encoding': 'br, gzip;q=0' })).headers['content-encoding']).to.equal(undefined);
    const answer = await get({ 'accept-encoding': 'br, gzip;q=0.5' });
    expect(answer.headers['content-encoding']).to.equal('gzip');
    expect(Number(answer.headers['content-length'])).to.be.below(Buffer.byteLength(plain.text) / 4);
    // fetch inflates what it receives.
    const fetched = await fetch(`${origin}${path}`);
    expect(await fetched.json()).to.deep.equal(plain.body);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const { headers: of, ...got } = await get({}, 'GET');
    const head = await get({}, 'HEAD');
    expect(head.status).to.equal(got.status);
    expect(head.text).to.equal('');
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary']) {
      expect(head.headers[name], name).to.equal(of[name]);
    }
    expectDocumented({ path, method: 'HEAD' }, head);
  });

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'BREW']) {
    it(`${method} is 405 with Allow`, async () => {
      const answer = await get({}, method);
      expect(answer.status).to.equal(405);
      expect(answer.headers.allow).to.equal('GET, HEAD');
      expectError(answer, 'METHOD_NOT_ALLOWED');
    });
  }

  for (const other of ['/openapi.json/', '/OPENAPI.json', '/v1/openapi.json', '/openapi.json%20', '/openapi']) {
    it(`${other} is not public`, async () => {
      expectError(await request(http.baseUrl, { path: other }), 'UNAUTHORIZED');
    });
  }
});
