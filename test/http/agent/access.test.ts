import { Client, SdkHttpError } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { revokeKey } from '../../../shared/database/api-keys.js';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import type { Asked } from '../../support/http/http.js';
import { request } from '../../support/http/http.js';
import { listPath } from '../../support/http/material-paths.js';
import { expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';
import { dataOf, errorOf, transportTo, withAgent } from './agent-client.js';

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_raw_materials' } };
const post = (more: Partial<Asked>): Asked => ({ method: 'POST', path: '/mcp', body: ping, ...more });

describe('POST /mcp: who is let in', () => {
  const http = useHttpService();

  it('without a good key every method is 401, in the JSON of REST', async () => {
    for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
      const asked = { method, path: '/mcp' };
      expectError(await http.ask(asked), 'UNAUTHORIZED');
      const answer = await http.ask({ ...asked, key: 'rmk_nonsense' });
      expectError(answer, 'UNAUTHORIZED');
      expect(answer.headers['www-authenticate']).to.contain('invalid_token');
    }
  });

  it('the official client is told of a bad key, and a revoked key ends within a second', async () => {
    const shop = await createTestShop(http.database);
    const client = new Client({ name: 'test', version: '1' });
    const refused = await client.connect(transportTo(http.baseUrl, 'rmk_nonsense')).catch((error: unknown) => error);
    expect(String(refused)).to.match(/401|unauthorized/i);
    const asked = post({ key: shop.readKey });
    expect((await request(http.baseUrl, asked)).status).to.equal(200);
    await revokeKey(http.database, shop.shopId, parseKey(shop.readKey)?.id ?? '', new Date());
    await until(async () => (await request(http.baseUrl, asked)).status === 401, {
      deadlineMs: 1_500,
      what: 'the revocation',
    });
  });

  it('any other method is 405 with Allow: POST, and a path beside it is 404', async () => {
    const { readKey: key } = await createTestShop(http.database);
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'PROPFIND']) {
      const answer = await http.ask({ method, path: '/mcp', key });
      expect(answer.status, method).to.equal(405);
      expect(answer.headers['allow'], method).to.equal('POST');
    }
    for (const path of ['/mcp/', '/MCP', '/mcp/x', '/v1/mcp']) {
      expectError(await http.ask(post({ path, key })), 'NOT_FOUND');
    }
  });

  it('a body is held to the rules of REST: 415, 413 and 400, in the same JSON', async () => {
    const { readKey: key } = await createTestShop(http.database);
    const type = (value: string) => ({ headers: { 'content-type': value } });
    for (const value of ['text/plain', 'application/merge-patch+json', 'application/json; charset=latin1']) {
      expectError(await http.ask(post({ key, ...type(value) })), 'UNSUPPORTED_MEDIA_TYPE');
    }
    expectError(await http.ask(post({ key, body: ' '.repeat(1_048_577) })), 'PAYLOAD_TOO_LARGE');
    for (const body of ['', '{', '[]', '5', 'null', '"x"', JSON.stringify([ping]), Buffer.from([0x7b, 0xff, 0x7d])]) {
      expectFaults(await http.ask(post({ key, body })), ['']);
    }
    expectFaults(await http.ask(post({ key, body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}' })), ['/id']);
    expectError(await http.ask(post({ key, body: '{"a":'.repeat(40) + '1' + '}'.repeat(40) })), 'INVALID_INPUT');
  });

  it('no Accept is refused, and every answer has a request id and says what is left of the budget', async () => {
    const { readKey: key } = await createTestShop(http.database);
    for (const accept of ['*/*', 'application/json', 'text/html', '']) {
      const { status, headers, text } = await request(http.baseUrl, post({ key, headers: { accept } }));
      expect(status, accept).to.equal(200);
      expect(JSON.parse(text)).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
      expect(headers['content-type']).to.equal('application/json');
      expect(headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/);
      expect(headers).to.include.keys('ratelimit', 'ratelimit-policy', 'x-content-type-options');
    }
    const { headers, text } = await request(http.baseUrl, post({ key, body: list }));
    const { result } = JSON.parse(text) as { result: { _meta: unknown } };
    expect(result._meta).to.deep.equal({ requestId: headers['x-request-id'] });
  });

  it('the plan is not checked: a key of a basic shop works here and is 403 on REST', async () => {
    const shop = await createTestShop(http.database, { plan: 'basic' });
    const [variantId = ''] = shop.materialIds;
    expectError(await http.ask({ path: listPath, key: shop.writeKey }), 'PLAN_REQUIRED');
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const updates = [{ locationId: '1001', absolute: 3 }];
      expect(await dataOf(client, 'adjust_inventory', { variantId, updates })).to.include({ okCount: 1 });
    });
  });

  it('a key that may only read is refused the tools that write, and nothing changes', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    await withAgent({ baseUrl: http.baseUrl, key: shop.readKey }, async (client) => {
      const updates = [{ locationId: '1001', delta: 1 }];
      await errorOf(client, 'adjust_inventory', { variantId, updates }, 'FORBIDDEN_SCOPE');
      await errorOf(client, 'update_raw_material', { variantId, changes: { sku: 'S' } }, 'FORBIDDEN_SCOPE');
      expect(await dataOf(client, 'get_inventory', { variantId })).to.include({ totalQuantity: 0 });
      expect(await dataOf(client, 'get_raw_material', { variantId })).to.include({ sku: null });
    });
  });

  it('one HTTP request is one point, and REST and agents together are admitted exactly the budget', async () => {
    const budget = 20;
    const shop = await createTestShop(http.database, { rateLimitPoints: budget });
    const other = await createTestShop(http.database, { rateLimitPoints: budget });
    const env = { RATE_LIMIT_WINDOW_SECONDS: '30' };
    await http.withApi(env, async ({ baseUrl }) => {
      const answers = await Promise.all(
        Array.from({ length: 3 * budget }, (_, index) =>
          index % 2 === 0
            ? request(baseUrl, { path: listPath, key: shop.readKey })
            : request(index % 3 === 0 ? http.baseUrl : baseUrl, post({ key: shop.readKey, body: list })),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).to.have.length(budget);
      expect(statuses.filter((status) => status === 429)).to.have.length(2 * budget);
      const last = await ask(baseUrl, post({ key: shop.readKey }));
      expectError(last, 'RATE_LIMITED');
      expect(Number(last.headers['retry-after'])).to.be.within(1, 60);
      expect((await request(baseUrl, post({ key: other.readKey }))).status).to.equal(200);
    });
  });

  it('the official client is told of 429', async () => {
    const shop = await createTestShop(http.database, { rateLimitPoints: 4 });
    await withAgent({ baseUrl: http.baseUrl, key: shop.readKey }, async (client) => {
      let refusal: unknown;
      for (let calls = 0; calls < 4 && refusal === undefined; calls += 1) {
        refusal = await client.callTool({ name: 'list_raw_materials' }).then(
          () => undefined,
          (error: unknown) => error,
        );
      }
      expect(refusal).to.be.instanceOf(SdkHttpError);
      expect((refusal as SdkHttpError).status).to.equal(429);
    });
  });
});
