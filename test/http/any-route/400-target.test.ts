import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const withoutHost = [
  'http://[a/',
  'http://[::1/healthz',
  'http://a[b/x',
  'http://]/x',
  // Not in absolute form, but what reads the path takes it for one because of its @ and #.
  '//x@[a/y#z',
];
const withoutPath = ['http://?page=1', 'foo://bar'];

describe('every path: 400 for a request target in which no path can be read', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  const send = async (target: string, headers = '') =>
    parseAnswer(
      await rawUntilClosed(http.port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`),
    );

  for (const target of [...withoutHost, ...withoutPath]) {
    it(`${target}: before the key and the limit, and no fault of ours`, async () => {
      for (const headers of ['', `Authorization: Bearer ${shop.readKey}\r\n`]) {
        const answer = await send(target, headers);
        expectFaults(answer, ['path']);
        expect(answer.headers).to.not.include.keys('ratelimit');
      }
    });
  }

  it('one that is not ASCII, as curl sends what is typed: it is said what to do, and percent-encoded it is taken', async () => {
    const key = `Authorization: Bearer ${shop.readKey}\r\n`;
    for (const target of [`${listPath}?search=Größe`, '/v1/raw-materials/Größe', `${listPath}?search=a\u0001`]) {
      const answer = await send(target, key);
      const { message } = expectError(answer, 'INVALID_INPUT');
      expect(message, target).to.match(/path or the query .* percent-encoded/);
      expectFaults(answer, ['path']);
    }
    expectData(await send(`${listPath}?search=${encodeURIComponent('Größe')}`, key), 'list');
  });

  it('the absolute form of an address is answered as the address is', async () => {
    expectData(await send('http://[::1]/healthz'), 'status');
    expectData(await send(`http://a.example${listPath}`, `Authorization: Bearer ${shop.readKey}\r\n`), 'list');
  });
});
