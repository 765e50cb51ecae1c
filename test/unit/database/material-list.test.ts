import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { NewMaterial } from '../../../shared/database/create-materials.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import type { MaterialListQuery } from '../../../shared/database/material-list.js';
import { createShop } from '../../../shared/database/shops.js';
import { sortKeys } from '../../../shared/domain/list-order.js';
import { connectForTest } from '../../support/database/database.js';
import { racingReads } from '../../support/database/racing-database.js';
import { sentDuring } from '../../support/database/sent-statements.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

const everything: MaterialListQuery = {
  page: 1,
  pageSize: 1_000,
  usageFilter: 'all',
  originFilter: 'all',
  sortBy: 'productName',
  sortOrder: 'asc',
  vendorFilter: [],
};

/** Named by one letter; `mirroredQuantity` gives platform materials a quantity to sort by without the ledger. */
const materials: NewMaterial[] = [
  virtual('a', { productName: 'banana', variantName: 'Ripe', sku: 'Z-1', vendor: 'acme', unitCost: 2 }),
  virtual('b', { productName: 'Apple', sku: '100%', vendor: 'Acme', unitCost: 10 }),
  virtual('c', { productName: 'apple', variantName: 'green_red', vendor: 'Öko & Söhne', unitCost: null }),
  virtual('d', { productName: 'Cherry', variantName: 'back\\slash', sku: 'z-1' }),
  { id: '77', origin: 'platform', productName: 'ZUCCHINI', vendor: 'Zeta', unitCost: 2, mirroredQuantity: -3_500_000 },
  { id: '8', origin: 'platform', productName: 'Ähre', sku: '1000', vendor: 'Acme', mirroredQuantity: 9_000_000 },
];
const names: Record<string, string> = { '77': 'p', '8': 'q' };

describe('the list of materials', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;
  let otherShopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4 });
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced' })).id;
    otherShopId = (await createShop(database, { name: 'two', plan: 'enhanced' })).id;
    await createMaterials(database, shopId, materials);
    // One statement gives all the same moment, but updatedAt is a sort key: so a second apart, in the order given.
    for (const [index, { id }] of materials.entries()) {
      await database.raw(
        `UPDATE stock SET updated_at = updated_at + ? * interval '1 second' WHERE shop_id = ? AND material_id = ?`,
        [index, shopId, id],
      );
    }
    const foreign = { id: 'VMAT-a', origin: 'virtual', productName: 'banana', vendor: 'Foreign' } as const;
    await createMaterials(database, otherShopId, [foreign]);
    const components = ['VMAT-a', '77'].map((materialId) => ({ materialId, quantity: 1_000_000 }));
    await createBill(database, shopId, { id: 'B1', kind: 'bill_of_materials', name: 'Salad', components });
    const second = [{ materialId: 'VMAT-a', quantity: 500_000 }];
    await createBill(database, shopId, { id: 'S1', kind: 'sub_assembly', name: 'Mash', components: second });
    const foreignUse = [{ materialId: 'VMAT-a', quantity: 1 }];
    await createBill(database, otherShopId, { id: 'B1', kind: 'bill_of_materials', name: 'x', components: foreignUse });
  });

  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  async function list(query: Partial<MaterialListQuery>): Promise<string> {
    const { items, totalCount } = await findMaterialPage(database, shopId, { ...everything, ...query });
    if (query.page === undefined && query.pageSize === undefined) expect(totalCount).to.equal(items.length);
    return items.map(({ id }) => names[id] ?? id.slice(5)).join('');
  }

  const vendorsOf = async (id: number) => (await findMaterialPage(database, id, everything)).availableVendors;

  const orders: [MaterialListQuery['sortBy'], 'asc' | 'desc', string][] = [
    // Text without regard to case, ties by id ascending in both directions; Ä after z, as its code point is.
    ['productName', 'asc', 'bcadpq'],
    ['productName', 'desc', 'qpdabc'],
    // Nulls last in both directions, and ties among them by id ('77' before '8' before 'VMAT-…').
    ['variantName', 'asc', 'dcapqb'],
    ['variantName', 'desc', 'acdpqb'],
    ['sku', 'asc', 'bqadpc'],
    ['sku', 'desc', 'adqbpc'],
    ['vendor', 'asc', 'qabpcd'],
    ['vendor', 'desc', 'cpqabd'],
    ['unitCost', 'asc', 'pabqcd'],
    ['unitCost', 'desc', 'bpaqcd'],
    ['inventoryQuantity', 'asc', 'pabcdq'],
    ['inventoryQuantity', 'desc', 'qabcdp'],
    ['updatedAt', 'asc', 'abcdpq'],
    ['updatedAt', 'desc', 'qpdcba'],
  ];
  for (const [sortBy, sortOrder, wanted] of orders) {
    it(`sorts by ${sortBy} ${sortOrder}: text without case, nulls last, ties by id`, async () => {
      expect(await list({ sortBy, sortOrder })).to.equal(wanted);
    });
  }

  const filters: [string, Partial<MaterialListQuery>, string][] = [
    ['an empty search is none', { search: '' }, 'bcadpq'],
    ['a search in the product name, without case', { search: 'APPLE' }, 'bc'],
    ['a search in the variant name', { search: 'ripe' }, 'a'],
    ['a search in the sku, without case', { search: 'Z-1' }, 'ad'],
    ['a search in the vendor', { search: 'zet' }, 'p'],
    ['a search with letters outside ASCII, without case', { search: 'ÖKO' }, 'c'],
    ['a search over all four at once', { search: 'z' }, 'adp'],
    ['% in a search is a character', { search: '100%' }, 'b'],
    ['_ in a search is a character', { search: '_' }, 'c'],
    ['a backslash in a search is a character', { search: 'k\\s' }, 'd'],
    ['a backslash at the end of a search is a character', { search: 'back\\' }, 'd'],
    ['quotes and colons in a search are characters', { search: "':shopId ?" }, ''],
    ['a search that only another shop meets', { search: 'Foreign' }, ''],
    ['used', { usageFilter: 'used' }, 'ap'],
    ['unused', { usageFilter: 'unused' }, 'bcdq'],
    ['platform', { originFilter: 'platform' }, 'pq'],
    ['virtual', { originFilter: 'virtual' }, 'bcad'],
    ['a vendor is exact, case included', { vendorFilter: ['Acme'] }, 'bq'],
    ['any of several vendors', { vendorFilter: ['Acme', 'Zeta', 'nobody'] }, 'bpq'],
    ['a vendor that is none of the shop', { vendorFilter: ['Foreign'] }, ''],
    ['filters together are all to be met', { originFilter: 'virtual', usageFilter: 'unused', search: 'apple' }, 'bc'],
  ];
  for (const [name, query, wanted] of filters) {
    it(`filters: ${name}`, async () => {
      expect(await list(query)).to.equal(wanted);
    });
  }

  for (const sortBy of sortKeys) {
    for (const sortOrder of ['asc', 'desc'] as const) {
      it(`pages by ${sortBy} ${sortOrder} neither overlap nor leave out`, async () => {
        const whole = await list({ sortBy, sortOrder });
        const pages = await Promise.all([1, 2, 3].map((page) => list({ sortBy, sortOrder, page, pageSize: 2 })));
        expect(pages.join('')).to.equal(whole);
      });
    }
  }

  it('says how many match on every page, a page past the end included', async () => {
    for (const page of [1, 3, 4, 1_000_000]) {
      const { items, totalCount } = await findMaterialPage(database, shopId, { ...everything, page, pageSize: 2 });
      expect([items.length, totalCount], `page ${page}`).to.deep.equal([page > 3 ? 0 : 2, 6]);
    }
  });

  it('answers the last page there can be, a thousand million rows down', async () => {
    const last = { ...everything, page: 1_000_000, pageSize: 1_000 };
    expect(await findMaterialPage(database, shopId, last)).to.deep.include({ items: [], totalCount: 6 });
  });

  it('finds nothing: no items, and a total of 0', async () => {
    const nothing = { ...everything, search: 'nothing is called this' };
    expect(await findMaterialPage(database, shopId, nothing)).to.deep.include({ items: [], totalCount: 0 });
  });

  it('finds nothing by a search that is longer than any text, without a look at the materials', async () => {
    const availableVendors = await vendorsOf(shopId);
    const sent = await sentDuring(database, async () => {
      const found = await findMaterialPage(database, shopId, { ...everything, search: 'x'.repeat(15_000) });
      expect(found).to.deep.equal({ items: [], totalCount: 0, availableVendors });
    });
    expect(sent.map(({ text }) => text.includes('FROM materials'))).to.deep.equal([false]);
  });

  it('finds the longest name by all of it, in characters and not in halves of them', async () => {
    const shop = await createShop(database, { name: 'long', plan: 'enhanced' });
    const productName = '\u{10400}'.repeat(255);
    await createMaterials(database, shop.id, [virtual('long', { productName })]);
    const find = async (search: string) =>
      (await findMaterialPage(database, shop.id, { ...everything, search })).totalCount;
    expect(await find('\u{10428}'.repeat(255))).to.equal(1);
    expect(await find('\u{10428}'.repeat(256))).to.equal(0);
  });

  it('shows an item as the contract says, its use counted within its own shop', async () => {
    const { items } = await findMaterialPage(database, shopId, { ...everything, search: 'banana' });
    const [{ createdAt, updatedAt, ...item } = expect.fail('nothing found')] = items;
    expect(item).to.deep.equal({
      id: 'VMAT-a',
      variantId: 'VMAT-a',
      origin: 'virtual',
      productName: 'banana',
      variantName: 'Ripe',
      sku: 'Z-1',
      unit: null,
      unitCost: 2,
      unitPrice: null,
      inventoryQuantity: 0,
      vendor: 'acme',
      specifications: null,
      imageUrl: null,
      isNonEssentialMaterial: false,
      weightValue: null,
      weightUnitId: null,
      usage: { billOfMaterials: 1, subAssemblies: 1 },
    });
    for (const at of [createdAt, updatedAt]) expect(at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  for (const filters of [{}, { originFilter: 'virtual' }] as const) {
    for (const sortOrder of ['asc', 'desc'] as const) {
      it(`has what the first bill begins to use between its two statements: ${JSON.stringify(filters)} ${sortOrder}`, async () => {
        const { id } = await createShop(database, { name: 'without bills', plan: 'basic' });
        await createMaterials(database, id, materials.slice(0, 3));
        const components = [{ materialId: 'VMAT-b', quantity: 1_000_000 }];
        let isUsed = false;
        const racing = racingReads(database, async () => {
          await createBill(database, id, { id: 'B1', kind: 'bill_of_materials', name: 'Salad', components });
          isUsed = true;
        });
        const page = await findMaterialPage(racing, id, { ...everything, ...filters, sortOrder });
        expect(isUsed).to.equal(true);
        expect(page.items.map((item) => item.id)).to.have.members(['VMAT-a', 'VMAT-b', 'VMAT-c']);
      });
    }
  }

  it('names every vendor of the shop once and no other, sorted without regard to case', async () => {
    expect(await vendorsOf(shopId)).to.deep.equal(['Acme', 'acme', 'Zeta', 'Öko & Söhne']);
    expect(await vendorsOf(otherShopId)).to.deep.equal(['Foreign']);
  });

  it('has no vendors where the shop has none', async () => {
    const empty = await createShop(database, { name: 'empty', plan: 'basic' });
    expect(await vendorsOf(empty.id)).to.deep.equal([]);
  });
});

function virtual(letter: string, fields: Omit<NewMaterial, 'id' | 'origin'>): NewMaterial {
  return { id: `VMAT-${letter}`, origin: 'virtual', ...fields };
}
