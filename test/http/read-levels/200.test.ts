import { expect } from 'chai';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { addLocations } from '../../../shared/database/locations.js';
import { standInLocations, startStandInPlatform } from '../../../shared/standalone/stand-in-platform.js';
import type { StandInPlatform } from '../../../shared/standalone/stand-in-platform.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectData, keysOf } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

interface Levels {
  variantId: string;
  origin: string;
  totalQuantity: number;
  levels: { locationId: string; quantity: number; updatedAt: string | null }[];
}

describe('GET /v1/raw-materials/{variantId}/inventory: 200', () => {
  const http = useHttpService();

  async function levels(shop: TestShop, id: string, query = ''): Promise<Levels> {
    return expectData(await http.ask({ path: inventoryPath(id) + query, key: shop.readKey }), 'levels') as Levels;
  }
  async function book(shop: TestShop, quantities: Record<string, number>): Promise<void> {
    const updates = Object.entries(quantities).map(([locationId, absolute]) => ({ locationId, absolute }));
    const path = inventoryPath(shop.materialIds[0]!);
    expectData(await http.ask({ method: 'PATCH', path, key: shop.writeKey, body: { updates } }), 'batch');
  }
  const quantitiesOf = ({ levels }: Levels) => levels.map(({ locationId, quantity }) => [locationId, quantity]);

  it('a material that nothing was booked of has no levels and a total of 0', async () => {
    const shop = await createTestShop(http.database);
    const [id = ''] = shop.materialIds;
    expect(await levels(shop, id)).to.deep.equal({ variantId: id, origin: 'virtual', totalQuantity: 0, levels: [] });
  });

  it('carries exactly the fields of the contract', async () => {
    const shop = await createTestShop(http.database);
    await book(shop, { '1001': 1 });
    const answer = await http.ask({ path: inventoryPath(shop.materialIds[0]!), key: shop.readKey });
    expect(keysOf(answer.body)).to.deep.equal(
      [
        ['data', 'data.levels', 'data.levels[].locationId', 'data.levels[].quantity', 'data.levels[].updatedAt'],
        ['data.origin', 'data.totalQuantity', 'data.variantId', 'meta', 'meta.apiVersion', 'meta.requestId'],
      ].flat(),
    );
  });

  it('without a filter shows the locations that have a level, 0 included, sorted by id', async () => {
    const shop = await createTestShop(http.database, { locations: 4 });
    await book(shop, { '1003': 2.5, '1001': 0, '1002': 1 });
    const read = await levels(shop, shop.materialIds[0]!);
    expect(quantitiesOf(read)).to.deep.equal([
      ['1001', 0],
      ['1002', 1],
      ['1003', 2.5],
    ]);
    expect(read.totalQuantity).to.equal(3.5);
    expect(read.levels.every(({ updatedAt }) => updatedAt !== null)).to.equal(true);
  });

  it('with locationIds shows those that the shop has, at 0 and never updated where nothing was booked', async () => {
    const shop = await createTestShop(http.database);
    await book(shop, { '1001': 5, '1002': 7 });
    const read = await levels(shop, shop.materialIds[0]!, '?locationIds=9999&locationIds=1003&locationIds=1002');
    expect(quantitiesOf(read)).to.deep.equal([
      ['1002', 7],
      ['1003', 0],
    ]);
    expect(read.levels[1]).to.deep.equal({ locationId: '1003', quantity: 0, updatedAt: null });
    expect(read.totalQuantity, 'the total is over all locations').to.equal(12);
  });

  it('only unknown locations are no levels, and one that is asked for twice is there once', async () => {
    const shop = await createTestShop(http.database);
    await book(shop, { '1001': 5 });
    const [id = ''] = shop.materialIds;
    expect((await levels(shop, id, '?locationIds=nowhere&locationIds=')).levels).to.deep.equal([]);
    expect((await levels(shop, id, '?locationIds=1001&locationIds=1001')).levels).to.have.length(1);
  });

  it('takes 250 locations, and ids with characters that must be escaped', async () => {
    const shop = await createTestShop(http.database, { locations: 250 });
    await addLocations(http.database, shop.shopId, [{ id: 'gid://x/1?&=ä', name: 'Odd' }]);
    const query = `?${shop.locationIds.map((id) => `locationIds=${id}`).join('&')}`;
    expect((await levels(shop, shop.materialIds[0]!, query)).levels).to.have.length(250);
    const odd = await levels(shop, shop.materialIds[0]!, `?locationIds=${encodeURIComponent('gid://x/1?&=ä')}`);
    expect(odd.levels[0]?.locationId).to.equal('gid://x/1?&=ä');
  });

  it('an unknown parameter is ignored', async () => {
    const shop = await createTestShop(http.database);
    expect((await levels(shop, shop.materialIds[0]!, '?locationId=9&x=1')).levels).to.deep.equal([]);
  });

  it("the levels of a virtual material never call the shop's platform", async () => {
    const platform = await startScriptedPlatform((_request, response) => response.writeHead(500).end());
    try {
      const shop = await createTestShop(http.database);
      await connectPlatform(http.database, shop.shopId, platform.url);
      await book(shop, { '1001': 5 });
      await levels(shop, shop.materialIds[0]!);
      await levels(shop, shop.materialIds[0]!, '?locationIds=1001');
      expect(platform.calls).to.equal(0);
    } finally {
      await platform.stop();
    }
  });

  describe('of a platform material', () => {
    let platform: StandInPlatform;
    let shop: TestShop;

    before(async () => {
      platform = await startStandInPlatform();
      shop = await createTestShop(http.database, { materials: 0, locations: 0, defaultLocation: false });
      await addLocations(http.database, shop.shopId, [...standInLocations, { id: '70009', name: 'New' }]);
      await connectPlatform(http.database, shop.shopId, platform.url);
      await createMaterials(
        http.database,
        shop.shopId,
        // The mirror has fallen behind on purpose: the levels are read live.
        ['8001', '8012', '8013'].map((id) => ({
          id,
          origin: 'platform',
          productName: `Variant ${id}`,
          mirroredQuantity: 1_000_000,
        })),
      );
    });
    after(() => platform.stop());

    it('are what the platform says now, location ids as plain digits', async () => {
      const updatedAt = '2026-01-05T08:00:00.000Z';
      expect(await levels(shop, '8001')).to.deep.equal({
        variantId: '8001',
        origin: 'platform',
        totalQuantity: 155,
        levels: [
          { locationId: '70001', quantity: 140, updatedAt },
          { locationId: '70002', quantity: 12, updatedAt },
          { locationId: '70003', quantity: 3, updatedAt },
        ],
      });
    });

    it('may be negative, and may be none', async () => {
      expect(await levels(shop, '8012')).to.include({ totalQuantity: -3 });
      expect(await levels(shop, '8013')).to.deep.include({ totalQuantity: 0, levels: [] });
    });

    it('with locationIds are those that the shop has, at 0 where the platform has no level, the total over all', async () => {
      const read = await levels(shop, '8001', '?locationIds=70009&locationIds=70002&locationIds=1');
      expect(read.totalQuantity).to.equal(155);
      expect(read.levels).to.deep.equal([
        { locationId: '70002', quantity: 12, updatedAt: '2026-01-05T08:00:00.000Z' },
        { locationId: '70009', quantity: 0, updatedAt: null },
      ]);
    });

    it('are sorted by id as those of a virtual material, bytewise, in whatever order the platform lists them', async () => {
      const ids = ['9', '70003', '80', '70001'];
      const nodes = ids.map((id) => ({
        location: { id: `gid://shopify/Location/${id}` },
        quantities: [{ name: 'available', quantity: 1, updatedAt: null }],
      }));
      const pageInfo = { hasNextPage: false, endCursor: null };
      const data = { productVariant: { inventoryItem: { inventoryLevels: { nodes, pageInfo } } } };
      const other = await startScriptedPlatform((_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data })),
      );
      try {
        const own = await createTestShop(http.database, { materials: 0, locations: 0, defaultLocation: false });
        await connectPlatform(http.database, own.shopId, other.url);
        await createMaterials(http.database, own.shopId, [{ id: '8001', origin: 'platform', productName: 'Lamp' }]);
        const sorted = ['70001', '70003', '80', '9'];
        for (const query of ['', `?${ids.map((id) => `locationIds=${id}`).join('&')}`]) {
          expect((await levels(own, '8001', query)).levels.map(({ locationId }) => locationId)).to.deep.equal(sorted);
        }
      } finally {
        await other.stop();
      }
    });

    it('with locationIds hide none that the platform has a level at, though the mirror does not know it yet', async () => {
      const fresh = await createTestShop(http.database, { materials: 0, locations: 0, defaultLocation: false });
      await connectPlatform(http.database, fresh.shopId, platform.url);
      await createMaterials(http.database, fresh.shopId, [{ id: '8001', origin: 'platform', productName: 'Variant' }]);
      const all = await levels(fresh, '8001');
      expect(all.levels.map(({ locationId }) => locationId)).to.deep.equal(['70001', '70002', '70003']);
      expect(await levels(fresh, '8001', '?locationIds=70003&locationIds=70001&locationIds=1')).to.deep.equal({
        ...all,
        levels: [all.levels[0], all.levels[2]],
      });
    });
  });
});
