import { expect } from 'chai';
import { deflateSync, gzipSync } from 'node:zlib';
import { expectUntouched } from '../../support/shop/footprint.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { parseAnswer } from '../../support/http/raw-exchange.js';
import { expectFaults } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const batch = '"updates":[{"locationId":"1001","delta":1}]';
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

/** Bodies that no write takes (reliability §1), and the paths that `details` must name. */
const bodies: { title: string; body: string | Buffer; paths: string[]; encoding?: string }[] = [
  { title: 'an empty body', body: '', paths: [''] },
  { title: 'white space alone', body: ' \r\n\t ', paths: [''] },
  { title: 'an array', body: '[1]', paths: [''] },
  ...['null', 'true', '5', '"text"', '[]'].map((body) => ({ title: body, body, paths: [''] })),
  { title: 'a byte order mark alone', body: '\ufeff', paths: [''] },
  ...['{', '{"updates":', `{${batch}`, `{${batch},}`, "{'sku':'x'}", '{sku:"x"}', 'NaN', '{"unitCost":NaN}'].map(
    (body) => {
      return { title: `what is not JSON: ${body}`, body, paths: [''] };
    },
  ),
  { title: 'a second value', body: `{${batch}}{}`, paths: [''] },
  { title: 'a number with a leading zero', body: '{"unitCost":01}', paths: [''] },
  { title: 'a NUL between the tokens', body: '{"sku":\0"x"}', paths: [''] },
  { title: 'a raw control character in a text', body: '{"sku":"a\nb"}', paths: [''] },
  { title: 'invalid UTF-8', body: Buffer.from('{"sku":"\xff"}', 'latin1'), paths: [''] },
  { title: 'UTF-8 of a surrogate', body: Buffer.from('{"sku":"\xed\xa0\x80"}', 'latin1'), paths: [''] },
  { title: 'an overlong NUL', body: Buffer.from('{"sku":"\xc0\x80"}', 'latin1'), paths: [''] },
  { title: 'UTF-16', body: Buffer.from('{"sku":"x"}', 'utf16le'), paths: [''] },
  { title: '10,000 arrays in each other', body: nested(10_000), paths: ['/0'.repeat(32)] },
  {
    title: '10,000 nested arrays in a field that is ignored',
    body: `{${batch},"junk":${nested(10_000)}}`,
    paths: [`/junk${'/0'.repeat(31)}`],
  },
  {
    title: '33 nested objects',
    body: `{"a":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`,
    paths: ['/a'.repeat(32)],
  },
  { title: 'more than 20,000 items', body: `{${batch},"x":[${'0,'.repeat(20_000)}0]}`, paths: [''] },
  { title: 'a key twice', body: `{${batch},${batch}}`, paths: ['/updates'] },
  { title: 'a key twice, once escaped', body: '{"sku":"a","\\u0073ku":"b"}', paths: ['/sku'] },
  {
    title: 'delta twice in a row',
    body: '{"updates":[{"locationId":"1001","delta":1,"delta":2}]}',
    paths: ['/updates/0/delta'],
  },
  { title: 'a key twice in a field that is ignored', body: '{"x":{"y":[{"z":1,"z":1}]}}', paths: ['/x/y/0/z'] },
  {
    title: 'a key of half a megabyte twice',
    body: `{"${'~'.repeat(500_000)}":1,"${'~'.repeat(500_000)}":2}`,
    paths: [`/${'~0'.repeat(255)}…`],
  },
  { title: '__proto__ twice', body: '{"__proto__":1,"__proto__":2}', paths: ['/__proto__'] },
  { title: 'gzip of junk', body: 'this is no gzip', encoding: 'gzip', paths: [''] },
  { title: 'gzip cut short', body: gzipSync(`{${batch}}`).subarray(0, 20), encoding: 'gzip', paths: [''] },
  { title: 'gzip of an empty body', body: gzipSync(''), encoding: 'gzip', paths: [''] },
  { title: 'deflate of junk', body: 'this is no deflate', encoding: 'deflate', paths: [''] },
  {
    title: 'deflate with junk after its end',
    body: Buffer.concat([deflateSync(`{${batch}}`), Buffer.from('{}')]),
    encoding: 'deflate',
    paths: [''],
  },
  { title: 'br of junk', body: 'this is no brotli', encoding: 'br', paths: [''] },
];

describe('every write: 400 for its body', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const { title, asked } of routes.filter(({ scope }) => scope === 'write')) {
    for (const { title: what, body, paths, encoding } of bodies) {
      it(`${title} with ${what}: nothing queued, nothing stored`, async () => {
        const headers = { 'content-type': 'application/json', ...(encoding && { 'content-encoding': encoding }) };
        const answer = await expectUntouched(http, shop.shopId, () =>
          http.ask({ ...asked(shop), key: shop.writeKey, headers, body }),
        );
        expectFaults(answer, paths);
        expect(answer.text.length, 'an answer does not grow with its fault').to.be.below(1_000);
      });
    }

    it(`${title} without any body, with a length of 0 and without a length`, async () => {
      for (const length of ['Content-Length: 0\r\n', '']) {
        const head = `PATCH ${asked(shop).path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n`;
        const text = `${head}Content-Type: application/json\r\n${length}\r\n`;
        expectFaults(parseAnswer(await expectUntouched(http, shop.shopId, () => raw(http.port, text))), ['']);
      }
    });
  }

  it('no prototype of the process is touched by any of it', async () => {
    for (const body of ['{"__proto__":{"ok":false,"sku":"x"}}', '{"constructor":{"prototype":{"sku":"x"}}}']) {
      for (const { asked, scope } of routes) {
        if (scope === 'write') await http.ask({ ...asked(shop), key: shop.writeKey, body });
      }
    }
    const path = `/v1/raw-materials/${shop.materialIds[0]!}`;
    const answer = await http.ask({ path, key: shop.readKey });
    expect((answer.body as { data: { sku: unknown } }).data.sku).to.equal(null);
  });
});
