import { expect } from 'chai';
import nock from 'nock';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { shopifyApiVersion } from '../../../shared/platform/shopify/shop-endpoint.js';
import { startApiInProcess } from '../../support/processes/api-in-process.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import {
  badIds,
  impossibleIds,
  inventoryPath,
  listPath,
  materialPath,
  unknownVirtualIds,
} from '../../support/http/material-paths.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

// nock takes over every client of the process as soon as it is imported: other files' servers must not go through it.
nock.restore();

const platformId = '4711';
const accessToken = 'token-of-the-shop';
const domain = 'demo-shop.myshopify.com';

describe('with the network shut', () => {
  const http = useHttpService();
  let api: Awaited<ReturnType<typeof startApiInProcess>>;
  let shop: TestShop;
  /** Every request that the process tried to send to anything but this machine. */
  const calls: string[] = [];

  function onNoMatch(request: { host?: string; getHeader?: (name: string) => unknown }): void {
    const to = String(request.host ?? request.getHeader?.('host'));
    if (!to.startsWith('127.0.0.1')) calls.push(to);
  }

  before(async () => {
    nock.activate();
    nock.disableNetConnect();
    // nock sees HTTP only; Postgres and Redis are sockets, and the test's own requests go to loopback.
    nock.enableNetConnect((host) => host.startsWith('127.0.0.1'));
    nock.emitter.on('no match', onNoMatch);
    api = await startApiInProcess(http.service);
    shop = await createTestShop(http.database);
    await connectPlatform(http.database, shop.shopId, domain, accessToken);
    await createMaterials(http.database, shop.shopId, [
      { id: platformId, origin: 'platform', productName: 'Lamp', mirroredQuantity: 1_000_000 },
    ]);
  });
  after(async () => {
    await api.stop();
    nock.emitter.off('no match', onNoMatch);
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
  });
  beforeEach(() => {
    calls.length = 0;
  });

  /** What the platform would answer, and how often it was asked. */
  function expectPlatform(quantity: number): nock.Scope {
    const level = {
      location: { id: 'gid://shopify/Location/1001' },
      quantities: [{ name: 'available', quantity, updatedAt: '2026-01-05T08:00:00Z' }],
    };
    const inventoryLevels = { nodes: [level], pageInfo: { hasNextPage: false, endCursor: null } };
    return nock(`https://${domain}`, { reqheaders: { 'x-shopify-access-token': accessToken } })
      .post(`/admin/api/${shopifyApiVersion}/graphql.json`)
      .reply(200, { data: { productVariant: { inventoryItem: { inventoryLevels } } } });
  }

  it('is really shut: a request to the outside fails, and is seen', async () => {
    const failure = await fetch(`https://${domain}/`).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(Error);
    expect(calls).to.have.length(1);
  });

  it('every operation on a VMAT- id is answered as always and makes no call', async () => {
    for (const { asked, scope } of routes) {
      const answer = await ask(api.baseUrl, { ...asked(shop), key: scope === 'read' ? shop.readKey : shop.writeKey });
      expect(answer.status).to.equal(200);
    }
    const [id = ''] = shop.materialIds;
    for (const path of [
      `${materialPath(id)}?includeConnections=true`,
      `${inventoryPath(id)}?locationIds=1001&locationIds=9`,
      `${listPath}?search=a&usageFilter=used&originFilter=virtual&vendorFilter=x&sortBy=inventoryQuantity`,
    ]) {
      expect((await ask(api.baseUrl, { path, key: shop.readKey })).status).to.equal(200);
    }
    const write = { method: 'PATCH', key: shop.writeKey };
    const body = { inventoryQuantity: 3, imageUrl: 'https://example.com/never-fetched.png' };
    expectData(await ask(api.baseUrl, { ...write, path: materialPath(id), body }), 'material');
    expect(calls).to.deep.equal([]);
  });

  it('nor does the worker, another process, that applies such: a platform would have been called', async () => {
    const platform = await startScriptedPlatform((_request, response) => response.writeHead(500).end());
    try {
      const own = await createTestShop(http.database);
      await connectPlatform(http.database, own.shopId, platform.url);
      await createMaterials(http.database, own.shopId, [
        { id: platformId, origin: 'platform', productName: 'Lamp', mirroredQuantity: 1_000_000 },
      ]);
      for (const { asked, scope } of routes) {
        const answer = await ask(http.baseUrl, { ...asked(own), key: scope === 'read' ? own.readKey : own.writeKey });
        expect(answer.status).to.equal(200);
      }
      expect(platform.calls).to.equal(0);
      const read = await ask(http.baseUrl, { path: inventoryPath(platformId), key: own.readKey });
      expectError(read, 'UPSTREAM_ERROR');
      expect(platform.calls).to.be.at.least(1);
    } finally {
      await platform.stop();
    }
  });

  it('nor does one on a VMAT- id that is not there, on what is no id, or on the list', async () => {
    for (const id of [...unknownVirtualIds, ...impossibleIds, ...badIds]) {
      for (const path of [materialPath(id), inventoryPath(id)]) {
        const read = await ask(api.baseUrl, { path, key: shop.readKey });
        const body = { updates: [{ locationId: '1001', delta: 1 }] };
        const written = await ask(api.baseUrl, { method: 'PATCH', path, key: shop.writeKey, body });
        expect([400, 404]).to.include(read.status);
        expect([400, 404]).to.include(written.status);
      }
    }
    expect(calls).to.deep.equal([]);
  });

  it("a PATCH on a platform id makes no call and queues nothing, whether or not it is the shop's", async () => {
    for (const id of [platformId, '4712']) {
      for (const [path, body] of [
        [materialPath(id), { productName: 'x' }],
        [inventoryPath(id), { updates: [{ locationId: '1001', delta: 1 }] }],
      ] as const) {
        const answer = await expectUntouched(http, shop.shopId, () =>
          ask(api.baseUrl, { method: 'PATCH', path, key: shop.writeKey, body }),
        );
        expectFaults(answer, ['variantId']);
      }
    }
    expect(calls).to.deep.equal([]);
  });

  it('a read of platform levels makes exactly one call for a page of them, and the single read makes none', async () => {
    for (const query of ['', '?locationIds=1001']) {
      const expected = expectPlatform(12);
      const answer = await ask(api.baseUrl, { path: inventoryPath(platformId) + query, key: shop.readKey });
      expect(expectData(answer, 'levels')).to.include({ origin: 'platform', totalQuantity: 12 });
      expect(expected.isDone()).to.equal(true);
    }
    expectData(await ask(api.baseUrl, { path: materialPath(platformId), key: shop.readKey }), 'material');
    expect(calls).to.deep.equal([]);
  });

  it('a read of platform levels that the network refuses is a 502', async () => {
    expectError(await ask(api.baseUrl, { path: inventoryPath(platformId), key: shop.readKey }), 'UPSTREAM_ERROR');
    expect(calls.length).to.be.at.least(1);
  });
});
