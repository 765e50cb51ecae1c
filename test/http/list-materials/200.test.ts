import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { NewMaterial } from '../../../shared/database/create-materials.js';
import type { Material } from '../../../shared/domain/material.js';
import { useHttpService } from '../../support/http/http-service.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectData, keysOf } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const path = '/v1/raw-materials';
const virtual = (id: string, more: Partial<NewMaterial> = {}): NewMaterial => {
  return { id: `VMAT-${id}`, origin: 'virtual', productName: `Material ${id}`, ...more };
};

interface Page {
  items: Material[];
  totalCount: number;
  page: number;
  pageSize: number;
  totalPages: number;
  availableVendors: string[];
}

describe('GET /v1/raw-materials: 200', () => {
  const http = useHttpService();

  async function list(shop: TestShop, query = ''): Promise<Page> {
    return expectData(await http.ask({ path: path + query, key: shop.readKey }), 'list') as Page;
  }
  const idsOf = async (shop: TestShop, query: string) => (await list(shop, query)).items.map(({ id }) => id);

  it('names the vendors of a shop, from the first on, as far as 4 MiB go', async () => {
    const shop = await createTestShop(http.database, { materials: 0 });
    const vendors = Array.from({ length: 3_000 }, (_, index) => String(index).padStart(4, '0').padEnd(255, '\u0001'));
    for (let start = 0; start < vendors.length; start += 1_000) {
      const some = vendors.slice(start, start + 1_000);
      await createMaterials(
        http.database,
        shop.shopId,
        some.map((vendor, index) => virtual(String(start + index), { vendor })),
      );
    }
    const { availableVendors, totalCount } = await list(shop, '?pageSize=1');
    expect(totalCount).to.equal(3_000);
    // Each takes 4 characters, 251 of six bytes, two quotes and a comma.
    expect(availableVendors).to.deep.equal(vendors.slice(0, Math.floor((4 * 1_024 * 1_024) / (4 + 6 * 251 + 3))));
  });

  it('a shop without materials is an empty first page of 50, of no pages', async () => {
    const shop = await createTestShop(http.database, { materials: 0 });
    expect(await list(shop)).to.deep.equal({
      items: [],
      totalCount: 0,
      page: 1,
      pageSize: 50,
      totalPages: 0,
      availableVendors: [],
    });
  });

  it('carries exactly the fields of the contract', async () => {
    const shop = await createTestShop(http.database);
    const answer = await http.ask({ path, key: shop.readKey });
    const item = [
      'createdAt',
      'id',
      'imageUrl',
      'inventoryQuantity',
      'isNonEssentialMaterial',
      'origin',
      'productName',
    ];
    item.push('sku', 'specifications', 'unit', 'unitCost', 'unitPrice', 'updatedAt', 'usage', 'usage.billOfMaterials');
    item.push('usage.subAssemblies', 'variantId', 'variantName', 'vendor', 'weightUnitId', 'weightValue');
    expect(keysOf(answer.body)).to.deep.equal(
      [
        'data',
        'data.availableVendors',
        'data.items',
        ...item.map((key) => `data.items[].${key}`),
        'data.page',
        'data.pageSize',
        'data.totalCount',
        'data.totalPages',
        'meta',
        'meta.apiVersion',
        'meta.requestId',
      ].sort(),
    );
  });

  it('an item is the same as the single read, and a key with the write scope may read', async () => {
    const shop = await createTestShop(http.database);
    const [item] = (await list(shop)).items;
    const single = await http.ask({ path: `${path}/${shop.materialIds[0]!}`, key: shop.writeKey });
    expect(item).to.deep.equal(expectData(single, 'material'));
  });

  it('the pages hold every material once, in order, and a page past the end is empty', async () => {
    const shop = await createTestShop(http.database, { materials: 7 });
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list(shop, `?page=${page}&pageSize=3`)));
    expect(pages.map(({ items }) => items.length)).to.deep.equal([3, 3, 1, 0]);
    expect(pages.map(({ page, pageSize, totalCount, totalPages }) => [page, pageSize, totalCount, totalPages])).to.eql(
      [1, 2, 3, 4].map((page) => [page, 3, 7, 3]),
    );
    const ids = pages.flatMap(({ items }) => items.map(({ id }) => id));
    expect(ids).to.deep.equal(shop.materialIds.toSorted());
  });

  it('takes the largest page and page size', async () => {
    const shop = await createTestShop(http.database);
    expect((await list(shop, '?pageSize=1000')).items).to.have.length(1);
    expect(await list(shop, '?page=1000000&pageSize=1000')).to.include({ page: 1_000_000, totalCount: 1 });
  });

  it('links to the first, previous, next and last page with the same filters', async () => {
    const shop = await createTestShop(http.database, { materials: 5 });
    const { headers } = await http.ask({ path: `${path}?search=material&page=2&pageSize=2`, key: shop.readKey });
    const rest = '&search=material&pageSize=2';
    expect(headers['link']).to.equal(
      [`<raw-materials?page=1${rest}>; rel="first"`, `<raw-materials?page=1${rest}>; rel="prev"`]
        .concat(`<raw-materials?page=3${rest}>; rel="next"`, `<raw-materials?page=3${rest}>; rel="last"`)
        .join(', '),
    );
  });

  it('whatever is asked, the headers stay so short that a client and a proxy take them', async () => {
    const shop = await createTestShop(http.database, { materials: 3 });
    const vendors = Array.from({ length: 100 }, (_, index) => `vendorFilter=vendor+${index}+of+many`).join('&');
    for (const query of [`search=${'~'.repeat(15_000)}`, vendors, `colour=${'~'.repeat(15_000)}`]) {
      const { status, headers } = await http.ask({ path: `${path}?${query}&pageSize=1`, key: shop.readKey });
      expect(status, query).to.equal(200);
      expect(String(headers['link'] ?? '').length, query).to.be.at.most(3_072);
    }
  });

  it('an unknown parameter is ignored, and so are an unknown sortBy and sortOrder', async () => {
    const shop = await createTestShop(http.database, { materials: 3 });
    const plain = await list(shop);
    for (const query of ['?colour=red', '?sortBy=colour', '?sortOrder=sideways', '?sortBy=__proto__', '?dryRun=true']) {
      expect(await list(shop, query), query).to.deep.equal(plain);
    }
  });

  describe('filters', () => {
    let shop: TestShop;

    before(async () => {
      shop = await createTestShop(http.database, { materials: 0 });
      await createMaterials(http.database, shop.shopId, [
        virtual('1', { productName: 'Oak BOARD', vendor: 'Zeta', sku: 'OB_1' }),
        virtual('2', { productName: 'Screw', variantName: '100% brass', vendor: 'acme' }),
        virtual('3', { productName: 'Glue', vendor: 'Acme & Söhne, Köln' }),
        virtual('4', { productName: 'Board game' }),
        { id: '4001', origin: 'platform', productName: 'Lamp', vendor: 'Zeta', mirroredQuantity: 3_000_000 },
      ]);
      await createBill(http.database, shop.shopId, {
        id: 'b',
        kind: 'bill_of_materials',
        name: 'Table',
        components: ['VMAT-1', '4001'].map((materialId) => ({ materialId, quantity: 1_000_000 })),
      });
    });

    const cases: { query: string; finds: string[] }[] = [
      { query: 'search=board', finds: ['VMAT-1', 'VMAT-4'] },
      { query: 'search=ZETA', finds: ['VMAT-1', '4001'] },
      { query: 'search=ob_1', finds: ['VMAT-1'] },
      { query: 'search=b_1', finds: ['VMAT-1'] },
      { query: 'search=o_rd', finds: [] },
      { query: 'search=100%25+br', finds: ['VMAT-2'] },
      { query: 'search=%25', finds: ['VMAT-2'] },
      { query: 'search=%5C', finds: [] },
      { query: 'search=k%C3%B6ln', finds: ['VMAT-3'] },
      { query: 'search=', finds: ['VMAT-1', 'VMAT-2', 'VMAT-3', 'VMAT-4', '4001'] },
      { query: 'usageFilter=used', finds: ['VMAT-1', '4001'] },
      { query: 'usageFilter=unused', finds: ['VMAT-2', 'VMAT-3', 'VMAT-4'] },
      { query: 'usageFilter=all', finds: ['VMAT-1', 'VMAT-2', 'VMAT-3', 'VMAT-4', '4001'] },
      { query: 'originFilter=platform', finds: ['4001'] },
      { query: 'originFilter=virtual', finds: ['VMAT-1', 'VMAT-2', 'VMAT-3', 'VMAT-4'] },
      { query: 'originFilter=all', finds: ['VMAT-1', 'VMAT-2', 'VMAT-3', 'VMAT-4', '4001'] },
      { query: 'vendorFilter=Zeta', finds: ['VMAT-1', '4001'] },
      { query: 'vendorFilter=zeta', finds: [] },
      { query: 'vendorFilter=Zeta&vendorFilter=acme', finds: ['VMAT-1', 'VMAT-2', '4001'] },
      { query: 'vendorFilter=Acme+%26+S%C3%B6hne%2C+K%C3%B6ln', finds: ['VMAT-3'] },
      { query: 'vendorFilter=Nobody', finds: [] },
      { query: 'vendorFilter=Zeta&originFilter=virtual&usageFilter=used&search=oak', finds: ['VMAT-1'] },
    ];
    for (const { query, finds } of cases) {
      it(`?${query} finds ${finds.length === 0 ? 'nothing' : finds.join(', ')}, and still every vendor`, async () => {
        const page = await list(shop, `?${query}`);
        expect(page.items.map(({ id }) => id)).to.have.members(finds);
        expect(page).to.include({ totalCount: finds.length, totalPages: finds.length === 0 ? 0 : 1 });
        expect(page.availableVendors).to.deep.equal(['acme', 'Acme & Söhne, Köln', 'Zeta']);
      });
    }
  });

  describe('sorting', () => {
    let shop: TestShop;

    before(async () => {
      shop = await createTestShop(http.database, { materials: 0 });
      await createMaterials(http.database, shop.shopId, [
        virtual('a', { productName: 'beta', variantName: 'X', sku: 's2', vendor: 'V', unitCost: 10 }),
        virtual('b', { productName: 'Alpha', variantName: 'x', sku: 'S1', vendor: 'u', unitCost: 9 }),
        virtual('c', { productName: 'gamma' }),
        { id: '5', origin: 'platform', productName: 'Gamma', variantName: 'w', mirroredQuantity: 5_000_000 },
      ]);
    });

    const cases: { query: string; order: string[] }[] = [
      { query: '', order: ['VMAT-b', 'VMAT-a', '5', 'VMAT-c'] },
      { query: 'sortBy=productName&sortOrder=desc', order: ['5', 'VMAT-c', 'VMAT-a', 'VMAT-b'] },
      { query: 'sortBy=variantName', order: ['5', 'VMAT-a', 'VMAT-b', 'VMAT-c'] },
      { query: 'sortBy=variantName&sortOrder=desc', order: ['VMAT-a', 'VMAT-b', '5', 'VMAT-c'] },
      { query: 'sortBy=sku&sortOrder=asc', order: ['VMAT-b', 'VMAT-a', '5', 'VMAT-c'] },
      { query: 'sortBy=sku&sortOrder=desc', order: ['VMAT-a', 'VMAT-b', '5', 'VMAT-c'] },
      { query: 'sortBy=vendor', order: ['VMAT-b', 'VMAT-a', '5', 'VMAT-c'] },
      { query: 'sortBy=unitCost', order: ['VMAT-b', 'VMAT-a', '5', 'VMAT-c'] },
      { query: 'sortBy=unitCost&sortOrder=desc', order: ['VMAT-a', 'VMAT-b', '5', 'VMAT-c'] },
      { query: 'sortBy=inventoryQuantity&sortOrder=desc', order: ['5', 'VMAT-a', 'VMAT-b', 'VMAT-c'] },
    ];
    for (const { query, order } of cases) {
      it(`?${query}: without regard to case, nulls last, ties by id`, async () => {
        expect(await idsOf(shop, `?${query}`)).to.deep.equal(order);
      });
    }

    it('by updatedAt, what was changed last comes first in descending order', async () => {
      const own = await createTestShop(http.database, { materials: 3 });
      const [first, second, third] = own.materialIds as [string, string, string];
      for (const id of [second, first, third]) {
        const changed = await http.ask({
          method: 'PATCH',
          path: `${path}/${id}`,
          key: own.writeKey,
          body: { productName: 'New' },
        });
        expectData(changed, 'material');
      }
      const times = (await list(own, '?sortBy=updatedAt&sortOrder=desc')).items.map(({ updatedAt }) => updatedAt);
      expect(times).to.deep.equal(times.toSorted().reverse());
    });
  });

  it('after a 200 the list shows the write: fields, quantity and vendor', async () => {
    const shop = await createTestShop(http.database);
    const [id = ''] = shop.materialIds;
    const write = { method: 'PATCH', key: shop.writeKey };
    expectData(await http.ask({ ...write, path: `${path}/${id}`, body: { vendor: 'Fresh' } }), 'material');
    const updates = [{ locationId: shop.locationIds[0]!, delta: 4.5 }];
    expectData(await http.ask({ ...write, path: `${path}/${id}/inventory`, body: { updates } }), 'batch');
    const page = await list(shop, '?vendorFilter=Fresh');
    expect(page.items[0]).to.include({ id, inventoryQuantity: 4.5, vendor: 'Fresh' });
    expect(page.availableVendors).to.deep.equal(['Fresh']);
  });

  it("shows no other shop's materials and vendors", async () => {
    const [mine, theirs] = [await createTestShop(http.database), await createTestShop(http.database)];
    await createMaterials(http.database, theirs.shopId, [virtual('secret', { vendor: 'Secret' })]);
    const page = await list(mine);
    expect(page.items.map(({ id }) => id)).to.deep.equal(mine.materialIds);
    expect(page.availableVendors).to.deep.equal([]);
  });

  it('never calls the platform: its materials are mirrored rows', async () => {
    const platform = await startScriptedPlatform((_request, response) => response.writeHead(500).end());
    try {
      const shop = await createTestShop(http.database, { materials: 0 });
      await connectPlatform(http.database, shop.shopId, platform.url);
      await createMaterials(http.database, shop.shopId, [
        { id: '77', origin: 'platform', productName: 'Lamp', mirroredQuantity: 12_000_000 },
      ]);
      expect((await list(shop)).items[0]).to.include({ id: '77', origin: 'platform', inventoryQuantity: 12 });
      expect(platform.calls).to.equal(0);
    } finally {
      await platform.stop();
    }
  });
});
