import { expect } from 'chai';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { parseAnswer, parseAnswers, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { checkReply, expectData } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

describe('every route: 200', () => {
  const http = useHttpService();

  for (const { title, asked } of routes) {
    it(`${title} answers with data and meta alone, whatever Accept says`, async () => {
      const shop = await createTestShop(http.database);
      for (const accept of ['application/json', 'text/html', '*/*;q=0', 'nonsense']) {
        const answer = await http.ask({ ...asked(shop), key: shop.writeKey, headers: { accept } });
        expect(answer.status).to.equal(200);
        expect(Object.keys(answer.body as object)).to.deep.equal(['data', 'meta']);
        expect(answer.headers).to.include.keys('ratelimit', 'ratelimit-policy');
      }
    });
  }

  it('a path is the same with unreserved characters escaped (RFC 3986 §6.2.2.2), and no other escape is undone', async () => {
    const shop = await createTestShop(http.database);
    for (const path of ['/v1/raw%2Dmaterials', '/v1/raw%2dmaterials?page=1', '/%76%31/r%61w-materials']) {
      expectData(await http.ask({ path, key: shop.readKey }), 'list');
    }
    expectData(await http.ask({ path: '/%68ealth%7A' }), 'status');
    const other = await http.ask({ method: 'BIND', path: '/v1/raw%2Dmaterials', key: shop.readKey });
    expect([other.status, other.headers['allow']]).to.deep.equal([405, 'GET']);
    expect((await http.ask({ path: '/v1%2Fraw-materials', key: shop.readKey })).status).to.equal(404);
    expect((await http.ask({ path: '/v1/raw%252Dmaterials', key: shop.readKey })).status).to.equal(404);
  });

  it('the use of a key is noted, at most once a minute', async () => {
    const shop = await createTestShop(http.database);
    const { id } = parseKey(shop.readKey)!;
    const lastUsed = async () => {
      const { rows } = await http.database.raw<{ rows: { last_used_at: Date | null }[] }>(
        'SELECT last_used_at FROM api_keys WHERE id = ?',
        [id],
      );
      return rows[0]?.last_used_at ?? undefined;
    };
    expect(await lastUsed()).to.equal(undefined);
    expectData(await http.ask({ path: listPath, key: shop.readKey }), 'list');
    const first = await until(lastUsed, { deadlineMs: 5_000, what: 'the use to be noted' });
    expectData(await http.ask({ path: listPath, key: shop.readKey }), 'list');
    expect(await lastUsed()).to.deep.equal(first);
  });

  it('a session that holds the rows of keys holds up none of them', async () => {
    const shops = await Promise.all(Array.from({ length: 6 }, () => createTestShop(http.database)));
    const keys = shops.flatMap(({ readKey, writeKey }) => [readKey, writeKey]);
    await http.database.transaction(async (other) => {
      await other.raw('SELECT 1 FROM api_keys FOR UPDATE');
      for (const key of keys) expectData(await http.ask({ path: listPath, key }), 'list');
    });
  });

  it('the target of a request may be a whole address, as a proxy sends it', async () => {
    const { readKey } = await createTestShop(http.database);
    const text = `GET http://service.test${listPath}?page=1 HTTP/1.1\r\nHost: service.test\r\n`;
    const answer = parseAnswer(await raw(http.port, `${text}Authorization: Bearer ${readKey}\r\n\r\n`));
    expectData(answer, 'list');
  });

  it('the last of three thousand header fields is read like the first', async () => {
    const { readKey } = await createTestShop(http.database);
    const fields = 'a:\r\n'.repeat(3_000);
    const text = `GET ${listPath} HTTP/1.1\r\nHost: x\r\n${fields}Authorization: Bearer ${readKey}\r\n\r\n`;
    expectData(parseAnswer(await raw(http.port, text)), 'list');
  });

  it('a header whose value is the name of another is none: there is one Host', async () => {
    const { readKey } = await createTestShop(http.database);
    const text = `GET ${listPath} HTTP/1.1\r\nHost: x\r\nX-Sorted-By: host\r\n`;
    expectData(parseAnswer(await raw(http.port, `${text}Authorization: Bearer ${readKey}\r\n\r\n`)), 'list');
  });

  it('requests sent one behind the other on one connection are answered in their order', async () => {
    const shop = await createTestShop(http.database);
    const text = (path: string, more = '') =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\n${more}\r\n`;
    const bytes = text(listPath) + text('/healthz') + text(`${listPath}?page=0`, 'Connection: close\r\n');
    const answers = parseAnswers(await rawUntilClosed(http.port, bytes));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 400]);
    answers.forEach((answer) => checkReply(answer));
  });
});
