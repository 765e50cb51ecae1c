import { expect } from 'chai';
import { gzipSync } from 'node:zlib';
import { expectUntouched } from '../../support/shop/footprint.js';
import { materialPath } from '../../support/http/material-paths.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const taken: Record<string, string> = {
  'PATCH /v1/raw-materials/{variantId}': 'application/json, application/merge-patch+json',
  'PATCH /v1/raw-materials/{variantId}/inventory': 'application/json',
};
const types = [
  'text/plain',
  'text/json',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json-patch+json',
  'application/jsonx',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-16',
  '*/*',
  'json',
  'application/json\u00a0',
  '\u00a0application/json',
  '',
];

describe('every write: 415', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const { title, asked } of routes.filter(({ scope }) => scope === 'write')) {
    const refused = title.endsWith('/inventory') ? [...types, 'application/merge-patch+json'] : types;

    async function refuse(headers: Record<string, string>, body: unknown): Promise<void> {
      const answer = await expectUntouched(http, shop.shopId, () =>
        http.ask({ ...asked(shop), key: shop.writeKey, headers, body }),
      );
      expectError(answer, 'UNSUPPORTED_MEDIA_TYPE');
      expect(answer.headers['accept-patch']).to.equal(taken[title]);
    }

    for (const type of refused) {
      it(`${title} with Content-Type: ${type}`, () => refuse({ 'content-type': type }, asked(shop).body));
    }

    it(`${title} without a Content-Type, with a body and without one`, async () => {
      for (const body of ['{}', '']) {
        // Over a socket: the client of the other tests names a type for a body by itself.
        const head = `PATCH ${asked(shop).path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n`;
        const text = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
        const answer = parseAnswer(await expectUntouched(http, shop.shopId, () => raw(http.port, text)));
        expectError(answer, 'UNSUPPORTED_MEDIA_TYPE');
        expect(answer.headers['accept-patch']).to.equal(taken[title]);
      }
    });

    for (const encoding of ['zstd', 'compress', 'x-unknown', 'gzip, gzip']) {
      it(`${title} with Content-Encoding: ${encoding}`, () =>
        refuse({ 'content-encoding': encoding }, gzipSync(JSON.stringify(asked(shop).body))));
    }

    for (const encoding of ['gzip', 'GZip', 'identity', 'Identity', '']) {
      it(`${title} with Content-Encoding: ${encoding} is taken`, async () => {
        const text = JSON.stringify(asked(shop).body);
        const body = encoding.toLowerCase() === 'gzip' ? gzipSync(text) : text;
        const headers = { 'content-encoding': encoding };
        expect((await http.ask({ ...asked(shop), key: shop.writeKey, headers, body })).status).to.equal(200);
      });
    }
  }

  it('comes before the fault of an id that is none, as a global id with bare slashes', async () => {
    const asked = { method: 'PATCH', key: shop.writeKey, headers: { 'content-type': 'text/plain' }, body: '{}' };
    for (const id of ['x', 'gid://shopify/ProductVariant/1', 'gid%3A%2F%2Fshopify%2FProductVariant%2F1'])
      expectError(await http.ask({ ...asked, path: materialPath(id) }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('a read takes no body, so its Content-Type means nothing', async () => {
    for (const { asked, scope } of routes) {
      if (scope !== 'read') continue;
      const headers = { 'content-type': 'text/plain', accept: 'text/html' };
      expect((await http.ask({ ...asked(shop), key: shop.readKey, headers })).status).to.equal(200);
    }
  });

  it('gzip is taken by its old name too, in any case', async () => {
    const [materialId = ''] = shop.materialIds;
    const body = gzipSync(JSON.stringify({ updates: [{ locationId: shop.locationIds[0], delta: 1 }] }));
    const head =
      `PATCH /v1/raw-materials/${materialId}/inventory HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
      `Authorization: Bearer ${shop.writeKey}\r\nContent-Type: application/json\r\nContent-Encoding: X-Gzip\r\n`;
    const text = Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
    expect(parseAnswer(await rawUntilClosed(http.port, text)).status).to.equal(200);
  });
});
