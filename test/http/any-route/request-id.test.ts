import { expect } from 'chai';
import type { Answer } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { checkReply } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';

const theirs = '00000000-0000-4000-8000-000000000000';

// That each is on every reply, in the header and equal in `meta`, is checked with every request of every other file.
describe('the request id', () => {
  const http = useHttpService();
  const idOf = ({ headers }: Answer) => headers['x-request-id'];

  it('is minted by the server and never taken from the client, on a good answer as on a bad one', async () => {
    const shop = await createTestShop(http.database);
    const headers = { 'x-request-id': theirs, 'request-id': theirs, 'x-correlation-id': theirs };
    const asked = [
      ...routes.map((route) => ({ ...route.asked(shop), key: shop.writeKey })),
      { path: listPath },
      { path: '/nowhere', key: shop.readKey },
      { method: 'DELETE', path: listPath, key: shop.readKey },
      { path: '/healthz' },
    ];
    for (const one of asked) {
      const answer = await http.ask({ ...one, headers });
      expect(answer.text).not.to.contain(theirs);
      expect(idOf(answer)).not.to.equal(theirs);
    }
  });

  it('is another one for each request', async () => {
    const shop = await createTestShop(http.database);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => http.ask({ path: listPath, key: shop.readKey })),
    );
    expect(new Set(answers.map(idOf)).size).to.equal(100);
  });

  it('is on an answer without a body, too', async () => {
    const { readKey: key } = await createTestShop(http.database);
    for (const path of [listPath, '/healthz', '/nowhere']) {
      expect(idOf(await http.ask({ method: 'HEAD', path, key }))).to.be.a('string');
    }
  });

  it("is on what the server answers by itself, for requests that Node's parser refuses", async () => {
    const refused = [
      'hello\r\n\r\n',
      `BREW ${listPath} HTTP/1.1\r\nHost: x\r\n\r\n`,
      'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
      `GET ${listPath} HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      `GET ${listPath} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `GET ${listPath} HTTP/1.1\r\nConnection: close\r\n\r\n`,
      `GET ${listPath} HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nConnection: close\r\n\r\n`,
    ];
    const statuses: number[] = [];
    for (const text of refused) {
      const withTheirs = text.replace('Host: x\r\n', `Host: x\r\nX-Request-Id: ${theirs}\r\n`);
      const answer = parseAnswer(await rawUntilClosed(http.port, withTheirs));
      checkReply(answer);
      expect(idOf(answer)).not.to.equal(theirs);
      statuses.push(answer.status);
    }
    expect(statuses).to.deep.equal([400, 405, 405, 431, 400, 400, 417]);
  });

  it('of a write is written to the ledger, so that a client can find what it did', async () => {
    const shop = await createTestShop(http.database);
    const { asked } = routes.find(({ title }) => title === 'PATCH /v1/raw-materials/{variantId}/inventory')!;
    const answer = await http.ask({ ...asked(shop), key: shop.writeKey });
    const { rows } = await http.database.raw<{ rows: unknown[] }>(
      'SELECT request_id, channel FROM ledger WHERE shop_id = ?',
      [shop.shopId],
    );
    expect(rows).to.deep.equal([{ request_id: idOf(answer), channel: 'rest' }]);
  });
});
