import { expect } from 'chai';
import { METHODS } from 'node:http';
import { expectUntouched } from '../../support/shop/footprint.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { parseAnswer } from '../../support/http/raw-exchange.js';
import { checkReply, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const id = 'VMAT-VAR-1';
const paths = [
  { path: listPath, allow: 'GET' },
  { path: materialPath(id), allow: 'GET, PATCH' },
  { path: inventoryPath(id), allow: 'GET, PATCH' },
  { path: materialPath('gid://shopify/ProductVariant/1'), allow: 'GET, PATCH' },
  { path: inventoryPath('gid:%2F%2Fshopify%2FProductVariant%2F1'), allow: 'GET, PATCH' },
  { path: inventoryPath('gid%3A//shopify/ProductVariant/1'), allow: 'GET, PATCH' },
  { path: `${inventoryPath(id)}/history`, allow: 'GET' },
  { path: `${inventoryPath('gid://shopify/ProductVariant/1')}/history`, allow: 'GET' },
  { path: `${inventoryPath('gid:%2F%2Fshopify%2FProductVariant%2F1')}/history`, allow: 'GET' },
];

/** Of RTSP, and of the preface of HTTP/2: Node's parser knows them, and refuses them in HTTP/1. */
const otherProtocolsVerbs = [
  ...['DESCRIBE', 'ANNOUNCE', 'SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER', 'SET_PARAMETER'],
  ...['REDIRECT', 'RECORD', 'FLUSH', 'PRI'],
];

describe('every path: 405', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database, { materialIds: [id] });
  });

  for (const { path, allow } of paths) {
    const refused = METHODS.filter((method) => method !== 'CONNECT' && !allow.split(', ').includes(method));

    it(`${path} answers to ${allow} and to none of ${refused.join(', ')}`, async () => {
      for (const method of refused) {
        const answer = await expectUntouched(http, shop.shopId, () => http.ask({ method, path, key: shop.writeKey }));
        expect(answer.status, method).to.equal(405);
        expect(answer.headers['allow'], method).to.equal(allow);
        expect(answer.headers, method).to.include.keys('ratelimit', 'ratelimit-policy');
        if (method !== 'HEAD') expectError(answer, 'METHOD_NOT_ALLOWED');
      }
    });

    it(`${path} answers to no made-up verb, nor to a verb in small letters`, async () => {
      for (const method of ['BREW', 'get', 'Patch', 'X-Y!', 'GETT', 'G', ...otherProtocolsVerbs]) {
        const text = `${method} ${path}?x=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n\r\n`;
        const answer = parseAnswer(await raw(http.port, text));
        expectError(answer, 'METHOD_NOT_ALLOWED');
        expect(answer.headers['allow'], method).to.equal(allow);
        expect(answer.headers['connection'], method).to.equal('close');
      }
    });

    it(`${path} opens no tunnel: CONNECT`, async () => {
      for (const target of [path, `${path}?x=1`, `http://x${path}`]) {
        const answer = parseAnswer(await raw(http.port, `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
        expectError(answer, 'METHOD_NOT_ALLOWED');
        expect(answer.headers['allow'], target).to.equal(allow);
      }
    });
  }

  it('CONNECT to another host opens no tunnel', async () => {
    const answer = parseAnswer(await raw(http.port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'));
    expectError(answer, 'METHOD_NOT_ALLOWED');
    expect(answer.headers['allow']).to.equal('GET, PATCH');
  });

  it('the body of a refused method is not read as the next request', async () => {
    const smuggled = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    const head = `POST ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n`;
    const text = `${head}Content-Length: ${smuggled.length}\r\nConnection: close\r\n\r\n${smuggled}`;
    const answer = parseAnswer(await raw(http.port, text));
    checkReply(answer);
    expectError(answer, 'METHOD_NOT_ALLOWED');
  });
});
