import type { ErrorCode } from '../../../shared/domain/errors.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import type { Asked } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const unknown = inventoryPath(unknownVirtualIds[0]);
const json = { 'content-type': 'application/json' };
const text = { 'content-type': 'text/plain' };
const large = `{${'x'.repeat(1_048_576)}`;
const batch = '{"updates":[{"locationId":"1001","delta":1}]}';
const badQuery = '?page=%E0%A4%A&dryrun=1';

/** Each step has its own fault and every fault of the steps behind it: the first one answers (contract §5). */
const steps: { step: string; code: ErrorCode; shop: 'limited' | 'basic' | 'good'; asked: (shop: TestShop) => Asked }[] =
  [
    {
      step: 'the key',
      code: 'UNAUTHORIZED',
      shop: 'limited',
      asked: () => ({ method: 'BIND', path: `/v1/nowhere${badQuery}`, headers: text, body: large }),
    },
    {
      step: 'the rate limit',
      code: 'RATE_LIMITED',
      shop: 'limited',
      asked: ({ readKey: key }) => ({ method: 'BIND', path: `/v1/%00${badQuery}`, key, headers: text, body: large }),
    },
    {
      step: 'the plan',
      code: 'PLAN_REQUIRED',
      shop: 'basic',
      asked: ({ readKey: key }) => ({ method: 'BIND', path: `/v1/%00${badQuery}`, key, headers: text, body: large }),
    },
    {
      step: 'the text of the path',
      code: 'INVALID_INPUT',
      shop: 'good',
      asked: ({ readKey: key }) => ({
        method: 'BIND',
        path: `${listPath}/%00${badQuery}`,
        key,
        headers: text,
        body: large,
      }),
    },
    {
      step: 'the path',
      code: 'NOT_FOUND',
      shop: 'good',
      asked: ({ readKey: key }) => ({
        method: 'BIND',
        path: `/v1/nowhere${badQuery}`,
        key,
        headers: text,
        body: large,
      }),
    },
    {
      step: 'the method',
      code: 'METHOD_NOT_ALLOWED',
      shop: 'good',
      asked: ({ readKey: key }) => ({ method: 'BIND', path: unknown + badQuery, key, headers: text, body: large }),
    },
    {
      step: 'the scope',
      code: 'FORBIDDEN_SCOPE',
      shop: 'good',
      asked: ({ readKey: key }) => ({ method: 'PATCH', path: unknown + badQuery, key, headers: text, body: large }),
    },
    {
      step: 'the scope, before the id is looked at',
      code: 'FORBIDDEN_SCOPE',
      shop: 'good',
      asked: ({ readKey: key }) => ({
        method: 'PATCH',
        path: inventoryPath('gid://x'),
        key,
        headers: json,
        body: batch,
      }),
    },
    {
      step: 'the content type',
      code: 'UNSUPPORTED_MEDIA_TYPE',
      shop: 'good',
      asked: ({ writeKey: key }) => ({ method: 'PATCH', path: unknown + badQuery, key, headers: text, body: large }),
    },
    {
      step: 'the content encoding',
      code: 'UNSUPPORTED_MEDIA_TYPE',
      shop: 'good',
      asked: ({ writeKey: key }) => {
        const headers = { ...json, 'content-encoding': 'zstd' };
        return { method: 'PATCH', path: unknown + badQuery, key, headers, body: large };
      },
    },
    {
      step: 'the size',
      code: 'PAYLOAD_TOO_LARGE',
      shop: 'good',
      asked: ({ writeKey: key }) => ({ method: 'PATCH', path: unknown + badQuery, key, headers: json, body: large }),
    },
    {
      step: 'the JSON',
      code: 'INVALID_INPUT',
      shop: 'good',
      asked: ({ writeKey: key }) => ({ method: 'PATCH', path: unknown, key, headers: json, body: '{' }),
    },
    {
      step: 'the query',
      code: 'INVALID_INPUT',
      shop: 'good',
      asked: ({ writeKey: key }) => ({ method: 'PATCH', path: unknown + badQuery, key, headers: json, body: batch }),
    },
    {
      step: 'the schema',
      code: 'INVALID_INPUT',
      shop: 'good',
      asked: ({ writeKey: key }) => ({ method: 'PATCH', path: unknown, key, headers: json, body: '{"updates":[{}]}' }),
    },
  ];

describe('the order of checks', () => {
  const http = useHttpService();
  const shops: Partial<Record<'limited' | 'basic' | 'good', TestShop>> = {};

  before(async () => {
    shops.limited = await createTestShop(http.database, { plan: 'basic', rateLimitPoints: 1 });
    shops.basic = await createTestShop(http.database, { plan: 'basic' });
    shops.good = await createTestShop(http.database);
    await http.ask({ path: listPath, key: shops.limited.readKey });
  });

  steps.forEach(({ step, code, shop: kind, asked }, index) => {
    it(`${index + 1}. ${step}: ${code}, nothing queued, nothing stored`, async () => {
      const shop = shops[kind]!;
      expectError(await expectUntouched(http, shop.shopId, () => http.ask(asked(shop))), code);
    });
  });

  it(`${steps.length + 1}. the material, once it was dispatched: NOT_FOUND`, async () => {
    const asked = { method: 'PATCH', path: unknown, key: shops.good!.writeKey, headers: json, body: batch };
    expectError(await http.ask(asked), 'NOT_FOUND');
  });
});
