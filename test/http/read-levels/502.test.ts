import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const id = '8001';
/** What a platform may write that must never reach a client. */
const inside = 'inside-of-the-platform';

const json = (body: unknown) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const failures: { title: string; answer: (response: ServerResponse) => void }[] = [
  { title: 'answers 500', answer: (response) => void response.writeHead(500).end(inside) },
  { title: 'answers 401', answer: (response) => void response.writeHead(401).end(inside) },
  { title: 'redirects elsewhere', answer: (response) => void response.writeHead(302, { location: '/' }).end() },
  { title: 'answers with what is no JSON', answer: (response) => void response.writeHead(200).end(`<${inside}>`) },
  { title: 'answers with JSON of another shape', answer: json({ data: { productVariant: { [inside]: 1 } } }) },
  { title: 'answers with a GraphQL error', answer: json({ errors: [{ message: inside }] }) },
  { title: 'breaks the connection off', answer: (response) => void response.destroy() },
];

describe('GET /v1/raw-materials/{variantId}/inventory: 502', () => {
  const http = useHttpService();

  async function shopOf(url: string): Promise<TestShop> {
    const shop = await createTestShop(http.database);
    await connectPlatform(http.database, shop.shopId, url);
    await createMaterials(http.database, shop.shopId, [{ id, origin: 'platform', productName: 'Lamp' }]);
    return shop;
  }

  for (const { title, answer } of failures) {
    it(`the platform ${title}: nothing of it is passed on, and our own tables are still read`, async () => {
      const platform = await startScriptedPlatform((_request, response) => {
        answer(response);
      });
      try {
        const shop = await shopOf(platform.url);
        const reply = await http.ask({ path: inventoryPath(id), key: shop.readKey });
        expect(expectError(reply, 'UPSTREAM_ERROR').details).to.equal(undefined);
        expect(reply.text).not.to.contain(inside);
        expect(platform.calls).to.be.at.least(1);
        expectData(await http.ask({ path: materialPath(id), key: shop.readKey }), 'material');
      } finally {
        await platform.stop();
      }
    });
  }

  it('the platform is away', async () => {
    const platform = await startScriptedPlatform(() => undefined);
    const shop = await shopOf(platform.url);
    await platform.stop();
    expectError(await http.ask({ path: inventoryPath(id), key: shop.readKey }), 'UPSTREAM_ERROR');
  });

  it('the platform never answers: given up within its deadline of 8 s', async () => {
    const platform = await startScriptedPlatform(() => undefined);
    try {
      const shop = await shopOf(platform.url);
      const asked = { path: inventoryPath(id), key: shop.readKey, deadlineMs: 15_000 };
      expectError(await http.ask(asked), 'UPSTREAM_ERROR');
    } finally {
      await platform.stop();
    }
  });

  it('the shop is not connected to a platform', async () => {
    const shop = await createTestShop(http.database);
    await createMaterials(http.database, shop.shopId, [{ id, origin: 'platform', productName: 'Lamp' }]);
    const refused = expectError(await http.ask({ path: inventoryPath(id), key: shop.readKey }), 'UPSTREAM_ERROR');
    expect(refused.message).to.equal('The shop is not connected to a commerce platform.');
  });

  for (const [what, env] of Object.entries({
    'whose token this process cannot open': { PLATFORM_TOKEN_KEY: '2e'.repeat(32) },
    'of a domain that this process may not call': { PLATFORM_ALLOW_LOOPBACK: 'false' },
  })) {
    it(`the shop is connected to a platform ${what}: that it is not would be untrue`, async () => {
      const platform = await startScriptedPlatform(() => undefined);
      try {
        const shop = await shopOf(platform.url);
        await http.withApiProcess(env, async ({ baseUrl }) => {
          const refused = expectError(
            await ask(baseUrl, { path: inventoryPath(id), key: shop.readKey }),
            'UPSTREAM_ERROR',
          );
          expect(refused.message).to.match(/^The service cannot call this shop's commerce platform as it is set up/);
        });
        expect(platform.calls).to.equal(0);
      } finally {
        await platform.stop();
      }
    });
  }
});
