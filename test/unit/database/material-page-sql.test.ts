import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { NewMaterial } from '../../../shared/database/create-materials.js';
import { readFacets } from '../../../shared/database/facets.js';
import type { ListFilters } from '../../../shared/database/facets.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import { gatherSql, isWalked, pageOfSql, shapeOf, walkSql } from '../../../shared/database/material-page-sql.js';
import type { PageShape } from '../../../shared/database/material-page-sql.js';
import { createShop } from '../../../shared/database/shops.js';
import { sortKeys } from '../../../shared/domain/list-order.js';
import type { SortKey } from '../../../shared/domain/list-order.js';
import { connectForTest } from '../../support/database/database.js';
import { diceOf } from '../../support/dice.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

const seed = 20_261_121;
const materialCount = 160;
const pageSize = 7;
const all: ListFilters = { usageFilter: 'all', originFilter: 'all', vendorFilter: [] };

type Key = string | number | null;

/** Few values, and many nulls: most rows tie with others. */
function randomMaterials(): NewMaterial[] {
  const dice = diceOf(seed);
  const text = (values: string[]) => dice.pick([...values, null]);
  return Array.from({ length: materialCount }, (_, index) => {
    const isVirtual = dice.chance(0.6);
    return {
      id: isVirtual ? `VMAT-${String((index * 37) % 1_000)}` : String(5_000 + ((index * 53) % 1_000)),
      origin: isVirtual ? 'virtual' : 'platform',
      productName: dice.pick(['Oak', 'oak', 'Birch', 'birch board', 'Ähre', 'Wax']),
      variantName: text(['Small', 'small', 'LARGE board']),
      sku: text(['A-1', 'a-1', 'B-2']),
      vendor: text(['Acme', 'acme', 'Board & Co', 'Zeta']),
      unitCost: dice.pick([1, 2, 2.5, 10, null]),
      ...(isVirtual ? {} : { mirroredQuantity: dice.below(4) * 1_000_000 }),
    };
  });
}

describe('the ways to a page of the list', () => {
  const materials = randomMaterials();
  const used = new Set(materials.filter((_, index) => index % 3 === 0).map(({ id }) => id));
  const changedAt = new Map<string, number>();
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url);
    // Another shop with the same ids, whose rows must not show.
    for (const name of ['other', 'own']) {
      shopId = (await createShop(database, { name, plan: 'enhanced' })).id;
      await createMaterials(database, shopId, materials);
      const components = [...used].map((materialId) => ({ materialId, quantity: 1_000_000 }));
      await createBill(database, shopId, { id: 'b', kind: 'sub_assembly', name: 'All', components });
    }
    for (const [index, { id }] of materials.entries()) {
      changedAt.set(id, index % 5);
      await database.raw(
        `UPDATE stock SET updated_at = TIMESTAMPTZ '2026-01-01' + ? * interval '1 second' WHERE shop_id = ? AND material_id = ?`,
        [index % 5, shopId, id],
      );
    }
  });
  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  const keyOf: Record<SortKey, (material: NewMaterial) => Key> = {
    productName: ({ productName }) => productName.toLowerCase(),
    variantName: ({ variantName }) => variantName?.toLowerCase() ?? null,
    sku: ({ sku }) => sku?.toLowerCase() ?? null,
    vendor: ({ vendor }) => vendor?.toLowerCase() ?? null,
    unitCost: ({ unitCost }) => unitCost ?? null,
    inventoryQuantity: ({ mirroredQuantity }) => mirroredQuantity ?? 0,
    updatedAt: ({ id }) => changedAt.get(id) ?? null,
  };

  function expected(sortBy: SortKey, sortOrder: 'asc' | 'desc', filters: ListFilters, search: string): string[] {
    const direction = sortOrder === 'desc' ? -1 : 1;
    return materials
      .filter(({ id, origin, productName, variantName, sku, vendor }) => {
        const texts = [productName, variantName, sku, vendor].map((text) => (text ?? '').toLowerCase());
        return (
          texts.some((text) => text.includes(search.toLowerCase())) &&
          (filters.usageFilter === 'all' || (filters.usageFilter === 'used') === used.has(id)) &&
          (filters.originFilter === 'all' || filters.originFilter === origin) &&
          (filters.vendorFilter.length === 0 || filters.vendorFilter.includes(vendor ?? ''))
        );
      })
      .sort((one, other) => {
        const [a, b] = [keyOf[sortBy](one), keyOf[sortBy](other)];
        if (a === b) return one.id < other.id ? -1 : 1;
        if (a === null || b === null) return a === null ? 1 : -1;
        return (a < b ? -1 : 1) * direction;
      })
      .map(({ id }) => id);
  }

  async function pages(sql: string, bindings: Record<string, unknown>): Promise<string[]> {
    const found: string[] = [];
    for (let skipped = 0; ; skipped += pageSize) {
      const { rows } = await database.raw<{ rows: { id: string }[] }>(
        `SELECT page.id FROM (${sql}) page JOIN materials m ON m.shop_id = :shopId AND m.id = page.id
         ORDER BY page.key ${bindings['direction'] === 'desc' ? 'DESC NULLS LAST' : ''}, page.id`,
        { ...bindings, skipped } as Record<string, number>,
      );
      found.push(...rows.map(({ id }) => id));
      if (rows.length < pageSize) return found;
    }
  }

  const cases: [string, ListFilters, string][] = [
    ['all', all, ''],
    ['the used', { ...all, usageFilter: 'used' }, ''],
    ['one vendor', { ...all, vendorFilter: ['Acme'] }, ''],
    [
      'several vendors, unused, virtual',
      { usageFilter: 'unused', originFilter: 'virtual', vendorFilter: ['Zeta', 'acme'] },
      '',
    ],
    ['a search', all, 'board'],
    ['a search in other letters', all, 'BOARD'],
    ['a search too short for a trigram', all, 'Oa'],
    ['a search for one letter, which is no ASCII', all, 'Ä'],
    ['a search among those of one origin', { ...all, originFilter: 'virtual' }, 'oa'],
    ['a search among the unused', { ...all, usageFilter: 'unused' }, 'oa'],
    ['a search among filters', { ...all, originFilter: 'platform', vendorFilter: ['Board & Co'] }, 'oa'],
  ];
  for (const sortBy of sortKeys) {
    for (const sortOrder of ['asc', 'desc'] as const) {
      it(`give the same pages by ${sortBy} ${sortOrder}, those of the rules, whatever is filtered`, async () => {
        for (const [name, filters, search] of cases) {
          const facets = await readFacets(database, shopId, filters);
          const shape = shapeOf({ ...filters, sortBy, sortOrder, search }, facets);
          const bindings = {
            ...{ shopId, facetIds: facets.ids, vendorFilter: [...filters.vendorFilter], pattern: `%${search}%` },
            ...{ pageSize, direction: sortOrder },
          };
          const wanted = expected(sortBy, sortOrder, filters, search);
          expect(wanted, name).to.have.length.greaterThan(0);
          if (search === '') {
            expect(await pages(walkSql(shape, wanted.length + pageSize), bindings), `${name}, walked`).to.deep.equal(
              wanted,
            );
          }
          for (const hasMostOfTable of [false, true]) {
            const gathered = pageOfSql(`(${gatherSql({ ...shape, hasMostOfTable })}) gathered`, sortOrder);
            expect(await pages(gathered, bindings), `${name}, gathered`).to.deep.equal(wanted);
          }
        }
      });
    }
  }

  it('are chosen by how much each has to read', () => {
    const shape: PageShape = {
      ...{ sortBy: 'sku', sortOrder: 'asc', groups: [0], byFacet: false, byVendor: false },
      ...{ bySearch: false, lacksTrigram: false, hasMostOfTable: false },
    };
    const walked = (more: Partial<PageShape>, matched: number, toPageEnd: number) =>
      isWalked({ ...shape, ...more }, { matched, inGroups: 1_000_000, toPageEnd });
    expect(walked({}, 1_000_000, 5_000), 'no filter').to.equal(true);
    expect(walked({ byVendor: true }, 300_000, 5_000), 'a large vendor').to.equal(true);
    expect(walked({ byVendor: true }, 1_000, 5_000), 'a small vendor').to.equal(false);
  });

  it('of a search depend on what it gives the index to look for, and on what part of all materials the shop has', () => {
    const search = (text: string, tablePart: number) => {
      const asked = { ...all, sortBy: 'sku', sortOrder: 'asc', search: text } as const;
      const { bySearch, lacksTrigram, hasMostOfTable } = shapeOf(asked, { tablePart });
      return { bySearch, lacksTrigram, hasMostOfTable };
    };
    expect(search('', 1)).to.include({ bySearch: false, lacksTrigram: false });
    expect(search('oa', 0)).to.deep.equal({ bySearch: true, lacksTrigram: true, hasMostOfTable: false });
    expect(search('oak', 0.79)).to.deep.equal({ bySearch: true, lacksTrigram: false, hasMostOfTable: false });
    expect(search('oak', 0.8)).to.deep.equal({ bySearch: true, lacksTrigram: false, hasMostOfTable: true });
    for (const text of ['---', '. .', 'a--', '%_%', '🪵🪵🪵'])
      expect(search(text, 1).lacksTrigram, text).to.equal(true);
    for (const text of ['ab-', '-a-', ' a ', '木材板', 'a-b'])
      expect(search(text, 1).lacksTrigram, text).to.equal(false);
  });

  it('count what a search finds also where the page is beyond it', async () => {
    const query = { ...all, pageSize: 1, sortBy: 'productName', sortOrder: 'asc', search: 'wax' } as const;
    const wanted = expected('productName', 'asc', all, 'wax');
    const first = await findMaterialPage(database, shopId, { ...query, page: 1 });
    expect(first.items.map(({ id }) => id)).to.deep.equal(wanted.slice(0, 1));
    const beyond = await findMaterialPage(database, shopId, { ...query, page: wanted.length + 1 });
    expect(beyond.items).to.deep.equal([]);
    expect([first.totalCount, beyond.totalCount]).to.deep.equal([wanted.length, wanted.length]);
  });
});
