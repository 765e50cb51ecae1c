import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { findLevels } from '../../../shared/database/levels.js';
import { findMaterialPage } from '../../../shared/database/material-list.js';
import type { MaterialListQuery } from '../../../shared/database/material-list.js';
import { checkRecentLedger } from '../../../shared/database/recent-ledger-check.js';
import { sortKeys } from '../../../shared/domain/list-order.js';
import { useDatabase } from '../../support/database/database.js';
import { planOf, rowsLookedAt, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';

const largeShop = { id: 1, materials: 20_000, vendors: 1_000, bills: 2_000 };
const smallShops = { count: 2_000, materials: 5 };

describe('the plans of a large shop among thousands of small ones', () => {
  const test = useDatabase({ poolMax: 2 });

  before(async () => {
    await test.database.raw(
      `INSERT INTO shops (id, name, plan) OVERRIDING SYSTEM VALUE
       SELECT s, 'Shop ' || s, 'enhanced' FROM generate_series(1, 1 + :count) s`,
      { count: smallShops.count },
    );
    await test.database.raw(
      `INSERT INTO materials (shop_id, id, origin, product_name, variant_name, sku, vendor, unit_cost)
       SELECT s, 'VMAT-' || md5(s || '.' || g), 'virtual', 'Oak ' || g, 'Variant ' || g % 1000, 'SKU-' || md5(g::text),
              CASE WHEN s = :largeId THEN 'Vendor ' || g % :vendors ELSE 'Vendor' END, g * 7919 % 10007
       FROM generate_series(1, 1 + :count) s
       CROSS JOIN LATERAL generate_series(1, CASE WHEN s = :largeId THEN CAST(:ofLarge AS integer) ELSE :ofSmall END) g`,
      {
        ...{ count: smallShops.count, ofSmall: smallShops.materials },
        ...{ largeId: largeShop.id, ofLarge: largeShop.materials, vendors: largeShop.vendors },
      },
    );
    await test.database.raw(
      `INSERT INTO stock (shop_id, material_id, total_quantity, updated_at)
       SELECT shop_id, id, n, now() - n * interval '1 second'
       FROM (SELECT shop_id, id, row_number() OVER (ORDER BY md5(id)) AS n FROM materials) m`,
    );
    // Each bill has one component; a small shop has one bill.
    await test.database.raw(
      `INSERT INTO bills (shop_id, id, kind, name)
       SELECT s, CAST(b AS text), 'sub_assembly', 'Table' FROM generate_series(1, 1 + :count) s
       CROSS JOIN LATERAL generate_series(1, CASE WHEN s = :largeId THEN CAST(:ofLarge AS integer) ELSE 1 END) b`,
      { count: smallShops.count, largeId: largeShop.id, ofLarge: largeShop.bills },
    );
    await test.database.raw(
      `INSERT INTO bill_components (shop_id, bill_id, material_id, quantity)
       SELECT shop_id, id, 'VMAT-' || md5(shop_id || '.' || id), 1 FROM bills`,
    );
    await test.database.raw('VACUUM (ANALYZE) materials, stock, bills, bill_components, facets, facet_counts');
  });

  /** How many rows the page's statement takes from tables and indexes, those that it throws away included. */
  async function rowsRead(shopId: number, filter: Partial<MaterialListQuery>): Promise<number> {
    const all = { usageFilter: 'all', originFilter: 'all', vendorFilter: [], sortBy: 'productName' } as const;
    const query = { ...all, sortOrder: 'asc', page: 1, pageSize: 50, ...filter } as const;
    const [, statement] = await sentDuring(test.database, () => findMaterialPage(test.database, shopId, query));
    return rowsLookedAt(await planOf(test.database, statement ?? expect.fail('no page was read'), { isRun: true }));
  }

  // The shorter a text, the sooner the trigram index is cheaper than to read as many rows as a shop is expected to have.
  for (const search of ['Zinc', '7707']) {
    it(`a search for "${search}" does not read all of the large shop`, async () => {
      for (const sortBy of sortKeys) {
        expect(await rowsRead(largeShop.id, { search, sortBy }), sortBy).to.be.below(largeShop.materials / 20);
      }
    });
  }

  for (const pageSize of [50, 1_000]) {
    it(`a page of ${pageSize} does not read all of the large shop`, async () => {
      for (const sortBy of sortKeys) {
        for (const sortOrder of ['asc', 'desc'] as const) {
          const rows = await rowsRead(largeShop.id, { pageSize, sortBy, sortOrder });
          expect(rows, `${sortBy} ${sortOrder}`).to.be.below(6 * pageSize);
        }
      }
    });
  }

  it('stock is looked up by its key, also after a VACUUM, where a sort key is read without its table', async () => {
    const { database } = test;
    const materialId = `VMAT-${createHash('md5').update(`${largeShop.id}.1`).digest('hex')}`;
    const recent = [{ shopId: largeShop.id, materialId }];
    const all = { usageFilter: 'all', originFilter: 'all', vendorFilter: [], page: 1, pageSize: 50 } as const;
    const search = { ...all, search: '7707', sortOrder: 'asc' } as const;
    for (const use of [
      () => findMaterialPage(database, largeShop.id, { ...search, sortBy: 'updatedAt' }),
      () => findMaterialPage(database, largeShop.id, { ...search, sortBy: 'inventoryQuantity' }),
      () => findLevels(database, largeShop.id, materialId),
      () => findLevels(database, largeShop.id, materialId, ['1']),
      () => checkRecentLedger(database, recent, { levelsMax: 50, entriesPerLevelMax: 100 }),
    ]) {
      const sent = await sentDuring(database, use);
      const ofStock = sent.filter(({ text }) => text.includes('stock'));
      expect(ofStock).to.have.lengthOf.at.least(1);
      for (const statement of ofStock) {
        expect([...indexesOn('stock', await planOf(database, statement))]).to.deep.equal(['stock_pkey']);
      }
    }
  });

  it('the usage of a page reads its own bills alone', async () => {
    const query = { usageFilter: 'used', originFilter: 'all', vendorFilter: [], sortBy: 'productName' } as const;
    const page = { ...query, sortOrder: 'asc', page: 1, pageSize: 1_000 } as const;
    const [, statement] = await sentDuring(test.database, () => findMaterialPage(test.database, largeShop.id, page));
    const plan = await planOf(test.database, statement ?? expect.fail('no page was read'), { isRun: true });
    expect(rowsLookedAt(plan, 'bills')).to.equal(1_000);
    expect(rowsLookedAt(plan, 'bill_components')).to.equal(1_000);
  });

  it('a page or a search of a small shop reads that shop alone', async () => {
    for (const search of ['', 'Oak 3', 'oa']) {
      expect(await rowsRead(largeShop.id + 1, { search }), search).to.be.below(10 * smallShops.materials);
    }
  });

  it('a page with room for more than a small shop has looks its rows up by their keys, and makes none for others', async () => {
    const all = { usageFilter: 'all', originFilter: 'all', vendorFilter: [], sortBy: 'productName' } as const;
    const query = { ...all, sortOrder: 'asc', page: 1, pageSize: 1_000 } as const;
    const [, page] = await sentDuring(test.database, () => findMaterialPage(test.database, largeShop.id + 1, query));
    const plan = await planOf(test.database, page ?? expect.fail('no page was read'));
    expect([...nodesOf(plan)].filter((type) => type.includes('Join'))).to.deep.equal([]);
  });

  it('verify of lists reads the facet and the bills of each material alone', async () => {
    const sent = await sentDuring(test.database, () => checkLists(test.database, { shopId: largeShop.id }));
    const batches = sent.filter(({ text }) => text.includes('LIMIT'));
    const rows = { materials: 0, facets: 0, components: 0 };
    for (const batch of batches) {
      const plan = await planOf(test.database, batch, { isRun: true });
      rows.materials += rowsLookedAt(plan, 'materials');
      rows.facets += rowsLookedAt(plan, 'facets');
      rows.components += rowsLookedAt(plan, 'bill_components');
    }
    expect(rows.facets).to.be.within(1, rows.materials);
    expect(rows).to.include({ materials: largeShop.materials, components: largeShop.bills });
  });

  for (const [what, run, walked, joined] of [
    ['totals', checkLedger, 'stock', 'materials'],
    ['lists', checkLists, 'materials', 'stock'],
  ] as const) {
    for (const [whose, only, materials] of [
      ['of one shop', { shopId: largeShop.id }, largeShop.materials],
      ['of all shops', {}, largeShop.materials + smallShops.count * smallShops.materials],
    ] as const) {
      it(`verify of ${what} ${whose} reads each material once, not again from the first on for each batch`, async () => {
        const sent = await sentDuring(test.database, () => run(test.database, only));
        const batches = sent.filter(({ text }) => text.includes('stock') && text.includes('LIMIT'));
        const rows = { walked: 0, joined: 0 };
        for (const batch of batches) {
          const plan = await planOf(test.database, batch, { isRun: true });
          rows.walked += rowsLookedAt(plan, walked);
          rows.joined += rowsLookedAt(plan, joined);
        }
        expect(rows).to.deep.equal({ walked: materials, joined: materials });
      });
    }

    it(`verify of ${what} does not ask for each shop`, async () => {
      const sent = await sentDuring(test.database, () => run(test.database));
      const statements = new Set(sent.map(({ text, values }) => JSON.stringify([text, values])));
      expect(statements.size).to.be.below(smallShops.count / 100);
    });
  }
});

/** The indexes by which a plan reads a table. */
function indexesOn(table: string, { Plans = [], ...node }: PlanNode): Set<string> {
  const own = node['Relation Name'] === table ? [node['Index Name'] ?? 'none'] : [];
  return new Set([...own, ...Plans.flatMap((below) => [...indexesOn(table, below)])]);
}

function nodesOf({ 'Node Type': type, Plans = [] }: PlanNode): Set<string> {
  return new Set([type, ...Plans.flatMap((below) => [...nodesOf(below)])]);
}
