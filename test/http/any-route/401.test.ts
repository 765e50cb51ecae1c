import { expect } from 'chai';
import { insertKey, revokeKey } from '../../../shared/database/api-keys.js';
import { mintKey, parseKey } from '../../../shared/keys/api-key-format.js';
import { withLockedTable } from '../../support/database/broken-storage.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import type { Answer } from '../../support/http/http.js';
import { ask, useOwnHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

/** Without a token there is nothing to call invalid (RFC 6750 §3.1). */
const challenge = 'Bearer realm="raw-materials"';
const challengeOfToken = 'Bearer realm="raw-materials", error="invalid_token"';

function expectRefused(answer: Answer, wanted: string): void {
  expectError(answer, 'UNAUTHORIZED');
  expect(answer.headers['www-authenticate']).to.equal(wanted);
  expect(answer.headers, 'who is not known has no limit').not.to.have.any.keys('ratelimit', 'ratelimit-policy');
}

/** The same key with one character changed to another of the alphabet. */
function withTypo(key: string, at: number): string {
  return key.slice(0, at) + (key.charAt(at) === 'a' ? 'b' : 'a') + key.slice(at + 1);
}

describe('every route: 401', () => {
  // Its own, because failures count against the address of all tests: after 60 in a minute, good keys are refused.
  const http = useOwnHttpService({});
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const { title, asked } of routes) {
    it(`${title} without a key: nothing is queued and nothing stored`, async () => {
      const answer = await expectUntouched(http, shop.shopId, () => http.ask(asked(shop)));
      expectRefused(answer, challenge);
    });

    it(`${title} with a key that is not known: nothing is queued and nothing stored`, async () => {
      const answer = await expectUntouched(http, shop.shopId, () => http.ask({ ...asked(shop), key: mintKey().key }));
      expectRefused(answer, challengeOfToken);
    });
  }

  for (const path of ['/', '/v1', '/v1/unknown', '/healthz/', '/metrics']) {
    it(`${path} is not told to be there or not without a key`, async () => {
      expectRefused(await http.ask({ path }), challenge);
    });
  }

  const headers: { title: string; of: (key: string) => string; wanted: string }[] = [
    { title: 'the key without a scheme', of: (key) => key, wanted: challenge },
    { title: 'another scheme', of: (key) => `Basic ${key}`, wanted: challenge },
    { title: 'an empty header', of: () => '', wanted: challenge },
    { title: 'a scheme without a key', of: () => 'Bearer ', wanted: challenge },
    { title: 'two keys', of: (key) => `Bearer ${key} ${key}`, wanted: challengeOfToken },
    { title: 'a no-break space before the key', of: (key) => `Bearer \u00a0${key}`, wanted: challengeOfToken },
    { title: 'a no-break space behind the key', of: (key) => `Bearer ${key}\u00a0`, wanted: challengeOfToken },
    { title: 'a key in quotes', of: (key) => `Bearer "${key}"`, wanted: challengeOfToken },
    { title: 'another prefix', of: (key) => `Bearer ${key.replace('rmk_', 'rmx_')}`, wanted: challengeOfToken },
    { title: 'a key cut short', of: (key) => `Bearer ${key.slice(0, -1)}`, wanted: challengeOfToken },
    { title: 'a key with more behind it', of: (key) => `Bearer ${key}a`, wanted: challengeOfToken },
    { title: 'a typo in the id', of: (key) => `Bearer ${withTypo(key, 6)}`, wanted: challengeOfToken },
    { title: 'a typo in the secret', of: (key) => `Bearer ${withTypo(key, 20)}`, wanted: challengeOfToken },
    { title: 'a typo in the checksum', of: (key) => `Bearer ${withTypo(key, 53)}`, wanted: challengeOfToken },
    { title: 'the case of the prefix', of: (key) => `Bearer ${key.replace('rmk', 'RMK')}`, wanted: challengeOfToken },
  ];
  for (const { title, of, wanted } of headers) {
    it(`Authorization with ${title}`, async () => {
      expectRefused(await http.ask({ path: listPath, headers: { authorization: of(shop.readKey) } }), wanted);
    });
  }

  it('the scheme may be in any case', async () => {
    const authorization = `bEARER  ${shop.readKey}`;
    expectData(await http.ask({ path: listPath, headers: { authorization } }), 'list');
  });

  it('a key in the query is none', async () => {
    expectRefused(await http.ask({ path: `${listPath}?access_token=${shop.readKey}` }), challenge);
  });

  it('the id of a good key with the secret of another', async () => {
    const minted = mintKey();
    const stored = { ...minted, secretHash: parseKey(shop.readKey)!.secretHash };
    await insertKey(http.database, shop.shopId, { ...stored, label: 'x', scope: 'read', expiresAt: null });
    expectRefused(await http.ask({ path: listPath, key: minted.key }), challengeOfToken);
  });

  it('which of these a key is does not show: the answers are the same, byte for byte but for the request id', async () => {
    const insert = async (more: { secretHash?: Buffer; expiresAt?: Date }) => {
      const minted = mintKey();
      await insertKey(http.database, shop.shopId, { label: 'x', scope: 'read', expiresAt: null, ...minted, ...more });
      return minted;
    };
    const revoked = await insert({});
    await revokeKey(http.database, shop.shopId, revoked.id, new Date());
    const keys = {
      unknown: mintKey().key,
      'of another secret': (await insert({ secretHash: parseKey(shop.readKey)!.secretHash })).key,
      revoked: revoked.key,
      expired: (await insert({ expiresAt: new Date(0) })).key,
      'with a typo': withTypo(shop.readKey, 20),
      'no key at all': 'x',
    };
    const shown: unknown[] = [];
    for (const key of Object.values(keys)) {
      const answer = await http.ask({ path: listPath, key });
      expectRefused(answer, challengeOfToken);
      const { date: _date, ...headers } = answer.headers;
      const id = String(headers['x-request-id']);
      shown.push({
        status: answer.status,
        headers: { ...headers, 'x-request-id': '' },
        text: answer.text.replace(id, ''),
      });
    }
    for (const one of shown) expect(one).to.deep.equal(shown[0]);
  });

  it('an expired key; one that has not expired is good until then', async () => {
    const issue = async (expiresInMs: number) => {
      const minted = mintKey();
      const expiresAt = new Date(Date.now() + expiresInMs);
      await insertKey(http.database, shop.shopId, { ...minted, label: 'x', scope: 'read', expiresAt });
      return minted;
    };
    expectRefused(await http.ask({ path: listPath, key: (await issue(-1)).key }), challengeOfToken);
    const { key, id } = await issue(3_600_000);
    expectData(await http.ask({ path: listPath, key }), 'list');
    // Only now, since on a slow machine a key that is issued for a second may be over before it is used.
    const expiresAt = new Date(Date.now() + 1_500);
    await http.database.raw('UPDATE api_keys SET expires_at = ? WHERE id = ?', [expiresAt, id]);
    const answer = await until(
      async () => {
        const later = await http.ask({ path: listPath, key });
        return later.status !== 200 && later;
      },
      { deadlineMs: 5_000, what: 'the key to expire' },
    );
    expectRefused(answer, challengeOfToken);
    expect(Date.now(), 'and not before').to.be.at.least(expiresAt.getTime());
  });

  it('a key is good from its issue on, and refused by every process within a second of its revocation', async () => {
    const minted = mintKey();
    expectRefused(await http.ask({ path: listPath, key: minted.key }), challengeOfToken);
    await insertKey(http.database, shop.shopId, { ...minted, label: 'x', scope: 'read', expiresAt: null });
    await http.withApi({}, async ({ baseUrl }) => {
      const asked = { path: listPath, key: minted.key };
      expectData(await http.ask(asked), 'list');
      expectData(await ask(baseUrl, asked), 'list');
      await revokeKey(http.database, shop.shopId, minted.id, new Date());
      const revokedAtMs = performance.now();
      const lastGoodMs = await Promise.all(
        [http.baseUrl, baseUrl].map(async (url) => {
          let last = revokedAtMs;
          await until(
            async () => {
              const sentAtMs = performance.now();
              const { status } = await ask(url, asked);
              if (status === 200) last = sentAtMs;
              return status === 401;
            },
            { deadlineMs: 5_000, what: `${url} to refuse the revoked key` },
          );
          return last - revokedAtMs;
        }),
      );
      for (const ms of lastGoodMs)
        expect(ms, 'a request sent so long after the revocation was served').to.be.below(1_000);
    });
  });

  it('what cannot be a key is refused without a look-up: also while Postgres does not answer one', async () => {
    const good = mintKey().key;
    await withLockedTable(http.database, 'api_keys', async () => {
      expectRefused(await http.ask({ path: listPath }), challenge);
      expectRefused(await http.ask({ path: listPath, key: withTypo(good, 20) }), challengeOfToken);
      expectError(await http.ask({ path: listPath, key: good }), 'SERVICE_UNAVAILABLE');
    });
    expectRefused(await http.ask({ path: listPath, key: good }), challengeOfToken);
  });
});
