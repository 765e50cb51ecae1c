import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { readFacets } from '../../../shared/database/facets.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import type { MaterialListQuery } from '../../../shared/database/material-list.js';
import { gatherSql, walkSql } from '../../../shared/database/material-page-sql.js';
import { readRows } from '../../../shared/database/read-rows.js';
import type { Bindings, ReadOptions } from '../../../shared/database/read-rows.js';
import { createShop } from '../../../shared/database/shops.js';
import { sortKeys } from '../../../shared/domain/list-order.js';
import type { SortKey } from '../../../shared/domain/list-order.js';
import { connectForTest } from '../../support/database/database.js';
import { planOf, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

interface Scan {
  node: string;
  table: string | undefined;
  index: string | undefined;
  /** What the index is asked for. */
  condition: string | undefined;
}

/** Enough that reading a whole table is not the cheapest way to one of the first twenty pages. */
const materialsAShop = 20_000;

const indexOf: Record<SortKey, string> = {
  productName: 'materials_product_name_idx',
  variantName: 'materials_variant_name_idx',
  sku: 'materials_sku_idx',
  vendor: 'materials_vendor_order_idx',
  unitCost: 'materials_unit_cost_idx',
  inventoryQuantity: 'stock_total_idx',
  updatedAt: 'stock_updated_at_idx',
};

const facetIndexOf: Record<SortKey, string> = {
  productName: 'materials_facet_names_idx',
  variantName: 'materials_facet_names_idx',
  sku: 'materials_facet_codes_idx',
  vendor: 'materials_facet_codes_idx',
  unitCost: 'materials_facet_names_idx',
  inventoryQuantity: 'stock_facet_idx',
  updatedAt: 'stock_facet_idx',
};

const places = [
  ['asc', 1],
  ['desc', 1],
  ['asc', 20],
  ['desc', 20],
] as const;

const filters: [string, Partial<MaterialListQuery>][] = [
  ['no filter', {}],
  ['used', { usageFilter: 'used' }],
  ['unused', { usageFilter: 'unused' }],
  ['platform', { originFilter: 'platform' }],
  ['virtual', { originFilter: 'virtual' }],
  ['a vendor', { vendorFilter: ['Vendor 7'] }],
  ['several vendors', { vendorFilter: ['Vendor 7', 'Vendor 8', 'Vendor 9'] }],
  ['all filters', { vendorFilter: ['Vendor 7'], usageFilter: 'used', originFilter: 'virtual' }],
  ['a rare search', { search: 'oak 77' }],
  ['a common search', { search: 'oak' }],
  ['a search for nothing', { search: 'nothing of this' }],
  ['a search among filters', { search: 'oak', vendorFilter: ['Vendor 7'], usageFilter: 'unused' }],
];

describe('the plans of the list', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url);
    for (const name of ['other', 'own']) shopId = await fill(name);
    await database.raw('VACUUM (ANALYZE) materials, stock, bill_components, facets, facet_counts');
  });
  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  async function fill(name: string): Promise<number> {
    const { id } = await createShop(database, { name, plan: 'enhanced' });
    await database.raw(
      `INSERT INTO materials (shop_id, id, origin, product_name, variant_name, sku, vendor, unit_cost)
       SELECT :id, CASE WHEN g % 10 < 3 THEN (1000000 + g)::text ELSE 'VMAT-' || md5(g::text) END,
              CASE WHEN g % 10 < 3 THEN 'platform' ELSE 'virtual' END,
              (ARRAY['Oak', 'Birch', 'Steel', 'Wax', 'Glass', 'Paper', 'Resin', 'Linen', 'Brass', 'Cork'])[1 + g / 7 % 10] || ' ' || g,
              CASE WHEN g % 5 <> 0 THEN 'Variant ' || g % 1000 END, CASE WHEN g % 11 <> 0 THEN 'SKU-' || md5(g::text) END,
              CASE WHEN g % 20 <> 0 THEN 'Vendor ' || g / 10 % 100 END, CASE WHEN g % 7 <> 0 THEN g * 7919 % 10007 END
       FROM generate_series(1, :count) g`,
      { id, count: materialsAShop },
    );
    await database.raw(
      `INSERT INTO stock (shop_id, material_id, total_quantity, updated_at)
       SELECT shop_id, id, ascii(right(id, 1)), now() - ascii(id) * interval '1 second' FROM materials WHERE shop_id = ?`,
      [id],
    );
    await database.raw(`INSERT INTO bills (shop_id, id, kind, name) VALUES (?, 'b', 'sub_assembly', 'All')`, [id]);
    await database.raw(
      `INSERT INTO bill_components (shop_id, material_id, bill_id, quantity)
       SELECT shop_id, id, 'b', 1 FROM materials WHERE shop_id = ? AND product_name LIKE '%4'`,
      [id],
    );
    return id;
  }

  /** What each statement sent by `use` reads. */
  async function statementsOf(use: () => Promise<unknown>): Promise<{ sql: string; scans: Scan[] }[]> {
    const statements: { sql: string; scans: Scan[] }[] = [];
    for (const statement of await sentDuring(database, use)) {
      statements.push({ sql: statement.text, scans: scans(await planOf(database, statement)) });
    }
    return statements;
  }

  async function scansOf(sql: string, bindings: Bindings, options?: ReadOptions): Promise<Scan[]> {
    const [statement] = await statementsOf(() => readRows(database, sql, bindings, options));
    return statement?.scans ?? expect.fail('nothing was sent');
  }

  for (const [name, filter] of filters) {
    it(`${name}: no sort and no page of it reads a whole table, and the counters are read without one`, async () => {
      for (const sortBy of sortKeys) {
        for (const [sortOrder, page] of places) {
          const all = { usageFilter: 'all', originFilter: 'all', vendorFilter: [] } as const;
          const query = { ...all, ...filter, sortBy, sortOrder, page, pageSize: 50 };
          const statements = await statementsOf(() => findMaterialPage(database, shopId, query));
          const what = `${sortBy} ${sortOrder}, page ${page}`;
          const [counters, ...others] = statements;
          expect(tablesOf(counters?.scans), what).to.have.members(['facet_counts', 'facets', 'pg_class']);
          for (const { sql, scans } of others) {
            const whole = scans.filter(({ node, table }) => node === 'Seq Scan' && table !== 'bills');
            expect(whole, `${what}: ${sql}`).to.deep.equal([]);
          }
          // Among the few of a vendor the planner may as well look at each.
          if (filter.search === undefined || filter.vendorFilter !== undefined) continue;
          expect(indexesOf(others[0]?.scans), what).to.include('materials_search_idx');
        }
      }
    });
  }

  const shapes = sortKeys.flatMap((sortBy) =>
    (['asc', 'desc'] as const).map((sortOrder) => ({
      ...{ sortBy, sortOrder, groups: [0, 1, 2] },
      ...{ bySearch: false, lacksTrigram: false, hasMostOfTable: false },
    })),
  );
  const bindings = () => ({
    shopId,
    facetIds: [],
    vendorFilter: [],
    pattern: '%oak%',
    pageSize: 50,
    skipped: 950,
  });

  it('a walk reads the index of its sort key, and no table', async () => {
    const { ids } = await readFacets(database, shopId, {
      usageFilter: 'unused',
      originFilter: 'all',
      vendorFilter: [],
    });
    for (const shape of shapes) {
      for (const byVendor of [false, true]) {
        const found = await scansOf(walkSql({ ...shape, byFacet: byVendor, byVendor }, 1_024), {
          ...bindings(),
          facetIds: ids,
          vendorFilter: ['Vendor 7'],
        });
        for (const scan of found) {
          expect(scan, JSON.stringify(shape)).to.include({ node: 'Index Only Scan', index: indexOf[shape.sortBy] });
        }
        expect(found).to.not.be.empty;
      }
    }
  });

  it('a page in descending order keeps and sorts no more rows than its own, however many are before it', async () => {
    for (const shape of shapes.filter(({ sortOrder }) => sortOrder === 'desc')) {
      const sql = walkSql({ ...shape, byFacet: false, byVendor: false }, 1_024);
      const [statement] = await sentDuring(database, () => readRows(database, sql, bindings()));
      const plan = await planOf(database, statement ?? expect.fail('nothing was sent'), { isRun: true });
      const kept = nodesOf(plan).filter(({ 'Node Type': type }) => /Sort|CTE|Materialize|WindowAgg/.test(type));
      expect(kept, shape.sortBy).to.not.be.empty;
      for (const node of kept) {
        const rows = (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1);
        expect(rows, `${shape.sortBy}: ${node['Node Type']}`).to.be.at.most(4 * bindings().pageSize);
      }
    }
  });

  it('what is gathered by filters is read from the index of its facets and sort key, and no table', async () => {
    const ofVendor = { usageFilter: 'all', originFilter: 'all', vendorFilter: ['Vendor 7'] } as const;
    const { ids } = await readFacets(database, shopId, ofVendor);
    for (const shape of shapes) {
      const sql = gatherSql({ ...shape, byFacet: true, byVendor: true });
      const found = await scansOf(sql, { ...bindings(), facetIds: ids });
      expect(found, shape.sortBy).to.have.lengthOf(1);
      expect(found[0], shape.sortBy).to.include({
        node: 'Index Only Scan',
        table: indexOf[shape.sortBy].startsWith('stock') ? 'stock' : 'materials',
        index: facetIndexOf[shape.sortBy],
      });
    }
  });

  it('the longest texts fit into the indexes, also where nothing in them can be compressed', async () => {
    const { rows } = await database.raw<{ rows: { octets: number }[] }>(
      `INSERT INTO materials (shop_id, id, origin, product_name, variant_name, sku, vendor)
       SELECT :shopId, 'VMAT-' || repeat('x', 64), 'virtual', texts[1], texts[2], texts[3], texts[4]
       FROM (SELECT array_agg(text) AS texts FROM (
         SELECT string_agg(chr(131072 + (hashint4(g) & 32767)), '') AS text
         FROM generate_series(1, 4 * 255) g GROUP BY g % 4) four) one
       RETURNING octet_length(product_name_order) AS octets`,
      { shopId },
    );
    expect(rows).to.deep.equal([{ octets: 4 * 255 }]);
  });

  for (const hasMostOfTable of [false, true]) {
    const how = hasMostOfTable ? 'by the texts alone where the shop has most of the table' : 'by shop and texts';
    it(`what is gathered by a search comes from the trigram index, ${how}`, async () => {
      for (const shape of shapes) {
        const sql = gatherSql({ ...shape, byFacet: false, byVendor: false, bySearch: true, hasMostOfTable });
        const found = await scansOf(sql, bindings(), { planEachTime: true });
        const isFromStock = indexOf[shape.sortBy].startsWith('stock');
        expect(indexesOf(found)).to.have.members(['materials_search_idx', ...(isFromStock ? ['stock_pkey'] : [])]);
        const conditions = found.flatMap(({ index, condition }) => (index === 'materials_search_idx' ? condition : []));
        expect(conditions).to.have.length.greaterThan(0);
        for (const condition of conditions) {
          if (hasMostOfTable) expect(condition).to.not.include('shop_id');
          else expect(condition).to.include('shop_id');
        }
      }
    });
  }
});

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Every node that reads a table or an index. */
function scans(node: PlanNode): Scan[] {
  const own = {
    ...{ node: node['Node Type'], table: node['Relation Name'] },
    ...{ index: node['Index Name'], condition: node['Index Cond'] },
  };
  const below = (node.Plans ?? []).flatMap(scans);
  return own.table === undefined && own.index === undefined ? below : [own, ...below];
}

function indexesOf(found: Scan[] | undefined): string[] {
  return [...new Set(found?.flatMap(({ index }) => index ?? []))];
}

function tablesOf(found: Scan[] | undefined): string[] {
  return [...new Set(found?.flatMap(({ table }) => table ?? []))];
}
