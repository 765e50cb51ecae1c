import { expect } from 'chai';
import { updateShop } from '../../../shared/database/shops.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import type { Answer } from '../../support/http/http.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { parseAnswers, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

/** `"shop";r=<remaining>;t=<seconds until the window ends>` (draft-ietf-httpapi-ratelimit-headers). */
function limitOf({ headers }: Answer): { policy: unknown; remaining: number; resetSeconds: number } {
  const [, remaining, resetSeconds] = /^"shop";r=(\d+);t=(\d+)$/.exec(String(headers['ratelimit'])) ?? [];
  expect(remaining, `RateLimit: ${String(headers['ratelimit'])}`).not.to.equal(undefined);
  return {
    policy: headers['ratelimit-policy'],
    remaining: Number(remaining),
    resetSeconds: Number(resetSeconds),
  };
}

function requestWith(key: string, headers = ''): string {
  return `GET ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n`;
}

function expectLimited(answer: Answer): void {
  expectError(answer, 'RATE_LIMITED');
  const { remaining, resetSeconds } = limitOf(answer);
  expect(remaining).to.equal(0);
  expect(Number(answer.headers['retry-after'])).to.be.at.least(resetSeconds).and.at.least(1);
}

describe('every route: 429', () => {
  const http = useHttpService();

  it('a shop without a limit of its own has 600 requests in 60 s, and every answer tells what is left', async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: null });
    const answer = await http.ask({ path: listPath, key: shop.readKey });
    const { policy, remaining, resetSeconds } = limitOf(answer);
    expect({ policy, remaining }).to.deep.equal({ policy: '"shop";q=600;w=60', remaining: 599 });
    expect(resetSeconds).to.be.within(1, 60);
  });

  it("the shop's own limit counts every answer behind its keys, whatever its status, and then refuses", async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: 6 });
    const [id = ''] = shop.materialIds;
    const answers = [
      await http.ask({ path: listPath, key: shop.readKey }),
      await http.ask({ path: listPath, key: shop.writeKey }),
      await http.ask({ path: '/v1/nowhere', key: shop.readKey }),
      await http.ask({ method: 'DELETE', path: listPath, key: shop.readKey }),
      await http.ask({ method: 'PATCH', path: materialPath(id), key: shop.readKey, body: {} }),
      await http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body: '{' }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 404, 405, 403, 400]);
    expect(answers.map((answer) => limitOf(answer).remaining)).to.deep.equal([5, 4, 3, 2, 1, 0]);
    for (const answer of answers) expect(limitOf(answer).policy).to.equal('"shop";q=6;w=60');
    expectLimited(await http.ask({ path: listPath, key: shop.readKey }));
    expectLimited(await http.ask({ path: listPath, key: shop.writeKey }));
    expectData(await http.ask({ path: '/healthz' }), 'status');
  });

  for (const { title, asked } of routes) {
    it(`${title}: a refused request queues nothing and stores nothing`, async () => {
      const shop = await createTestShop(http.database, { rateLimitPoints: 1 });
      await http.ask({ path: listPath, key: shop.readKey });
      const answer = await expectUntouched(http, shop.shopId, () => http.ask({ ...asked(shop), key: shop.writeKey }));
      expectLimited(answer);
    });
  }

  it('two processes share one budget, to the point; another shop has its own', async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: 10 });
    const other = await createTestShop(http.database, { rateLimitPoints: 10 });
    await http.withApi({}, async ({ baseUrl }) => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          ask(n % 2 === 0 ? http.baseUrl : baseUrl, { path: listPath, key: shop.readKey }),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).to.have.length(10);
      const refused = answers.filter(({ status }) => status !== 200);
      refused.forEach(expectLimited);
      expect(limitOf(await ask(baseUrl, { path: listPath, key: other.readKey })).remaining).to.equal(9);
    });
  });

  it('a raised limit holds for the window under way, within a second', async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: 1 });
    const asked = { path: listPath, key: shop.readKey };
    expectData(await http.ask(asked), 'list');
    expectLimited(await http.ask(asked));
    await updateShop(http.database, shop.shopId, { rateLimitPoints: 1_000 });
    const answer = await until(
      async () => {
        const later = await http.ask(asked);
        return later.status === 200 && later;
      },
      { deadlineMs: 2_000, what: 'the raised limit' },
    );
    expect(limitOf(answer).policy).to.equal('"shop";q=1000;w=60');
  });

  it('the environment sets the limit and its window; a refused client that waits Retry-After is served', async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: null });
    const env = { RATE_LIMIT_POINTS: '2', RATE_LIMIT_WINDOW_SECONDS: '1' };
    await http.withApi(env, async ({ baseUrl }) => {
      const asked = { path: inventoryPath(shop.materialIds[0]!), key: shop.readKey };
      const refused = await until(
        // At once: one after the other, a slow machine may need longer than the window for three.
        async () => (await Promise.all([1, 2, 3].map(() => ask(baseUrl, asked)))).find(({ status }) => status === 429),
        { deadlineMs: 5_000, what: 'the limit to be reached' },
      );
      expectLimited(refused);
      expect(limitOf(refused).policy).to.equal('"shop";q=2;w=1');
      const readyAtMs = performance.now() + 1_000 * Number(refused.headers['retry-after']);
      await until(() => performance.now() >= readyAtMs, { deadlineMs: 5_000, what: 'Retry-After to pass' });
      expectData(await ask(baseUrl, asked), 'levels');
    });
  });

  describe('failed authentications of an address', () => {
    const failuresMax = 60;

    async function fail(baseUrl: string, count: number, headers: Record<string, string> = {}): Promise<void> {
      for (let n = 0; n < count; n += 1) {
        const answer = await ask(baseUrl, { path: listPath, key: n % 2 === 0 ? mintKey().key : 'rmk_junk', headers });
        expectError(answer, 'UNAUTHORIZED');
      }
    }

    it('after 60 in a minute keys not seen to be good are refused unread; those seen, and no key at all, go on', async () => {
      const [known, fresh] = [await createTestShop(http.database), await createTestShop(http.database)];
      await http.withApi({}, async ({ baseUrl }) => {
        expectData(await ask(baseUrl, { path: listPath, key: known.readKey }), 'list');
        await fail(baseUrl, failuresMax);
        // Nobody's X-Forwarded-For is believed by default, so a made-up one does not help.
        for (const headers of [{}, { 'x-forwarded-for': '203.0.113.9' }]) {
          for (const key of [fresh.readKey, mintKey().key, 'rmk_junk']) {
            const answer = await ask(baseUrl, { path: listPath, key, headers });
            expectError(answer, 'RATE_LIMITED');
            expect(Number(answer.headers['retry-after'])).to.be.within(1, 60);
            expect(answer.headers, 'the shop is not known').not.to.have.property('ratelimit');
          }
        }
        expectData(await ask(baseUrl, { path: listPath, key: known.readKey }), 'list');
        expectError(await ask(baseUrl, { path: listPath }), 'UNAUTHORIZED');
      });
    });

    it('guesses that come all at once are looked up no more than 60 times either; good keys beside them are served', async () => {
      const [known, fresh] = [await createTestShop(http.database), await createTestShop(http.database)];
      await http.withApi({}, async ({ baseUrl, port }) => {
        expectData(await ask(baseUrl, { path: listPath, key: known.readKey }), 'list');
        const guesses = Array.from({ length: 1_000 }, () => requestWith(mintKey().key));
        const guessed = rawUntilClosed(port, `${guesses.join('')}${requestWith('x', 'Connection: close\r\n')}`);
        const served = await ask(baseUrl, { path: listPath, key: known.readKey });
        const statuses = parseAnswers(await guessed).map(({ status }) => status);
        expectData(served, 'list');
        expect(statuses.filter((status) => status === 401)).to.have.length(failuresMax);
        expect(statuses.filter((status) => status === 429)).to.have.length(1_001 - failuresMax);
        expectError(await ask(baseUrl, { path: listPath, key: fresh.readKey }), 'RATE_LIMITED');
      });
    });

    it('200 requests at once with a good key that was not seen before are all served', async () => {
      const shop = await createTestShop(http.database);
      await http.withApi({}, async ({ port }) => {
        const requests = Array.from({ length: 199 }, () => requestWith(shop.readKey));
        const text = await rawUntilClosed(
          port,
          `${requests.join('')}${requestWith(shop.readKey, 'Connection: close\r\n')}`,
        );
        expect(new Set(parseAnswers(text).map(({ status }) => status))).to.deep.equal(new Set([200]));
      });
    });

    it('behind a trusted proxy the address is the one that the proxy names', async () => {
      const shop = await createTestShop(http.database);
      await http.withApi({ TRUSTED_PROXIES: '127.0.0.1' }, async ({ baseUrl }) => {
        const from = (address: string) => ({ 'x-forwarded-for': `198.51.100.1, ${address}` });
        await fail(baseUrl, failuresMax, from('203.0.113.9'));
        const asked = { path: listPath, key: shop.readKey };
        expectError(await ask(baseUrl, { ...asked, headers: from('203.0.113.9') }), 'RATE_LIMITED');
        expectData(await ask(baseUrl, { ...asked, headers: from('203.0.113.10') }), 'list');
      });
    });

    it('a request without a key is no guess and is not counted', async () => {
      const shop = await createTestShop(http.database);
      await http.withApi({}, async ({ baseUrl }) => {
        for (let n = 0; n <= failuresMax; n += 1) expectError(await ask(baseUrl, { path: listPath }), 'UNAUTHORIZED');
        expectData(await ask(baseUrl, { path: listPath, key: shop.readKey }), 'list');
      });
    });
  });
});
