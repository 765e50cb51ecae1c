import { expect } from 'chai';
import type { QueryConfig } from 'pg';
import { finishSync } from '../../../shared/database/finish-sync.js';
import { takenIds } from '../../../shared/database/insert-materials-with-stock.js';
import { findLevels } from '../../../shared/database/levels.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { recordLocations, recordVariants } from '../../../shared/database/platform-mirror.js';
import type { MirroredVariant } from '../../../shared/database/platform-mirror.js';
import { startSyncRun, takeSync } from '../../../shared/database/platform-syncs.js';
import type { PlatformSync, SyncHold } from '../../../shared/database/platform-syncs.js';
import { createShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { planOf, rowsLookedAt, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';

const materials = 20_000;
const locations = 5_000;
/** More than the 500 that go in one batch. */
const goneCount = 700;
const tables = [
  ...['materials', 'stock', 'platform_sightings', 'facets', 'facet_counts'],
  ...['locations', 'levels', 'bills', 'bill_components'],
];
const domain = 'demo-shop.myshopify.com';
const position = { phase: 'variants', cursor: null } as const;

/**
 * As during a first mirroring: autovacuum makes statistics only once a tenth of a table has changed, and the planner
 * takes a shop of which they know nothing for one of a row or none.
 */
describe('the plans of a large shop that came after the statistics', () => {
  const test = useDatabase({ poolMax: 1 });
  let hold: SyncHold;
  let run: PlatformSync;

  before(async () => {
    const { database } = test;
    for (const table of tables) {
      await database.raw('ALTER TABLE ?? SET (autovacuum_enabled = false)', [table]);
    }
    await addLargeShop();
    await database.raw('VACUUM (ANALYZE)');
    hold = { shopId: await addLargeShop(), token: '019ac9e8-0000-7000-8000-000000000001' };
    await startRun();
  });

  async function addLargeShop(): Promise<number> {
    const { database } = test;
    const { id } = await createShop(database, { name: 'Large', plan: 'enhanced' });
    await addMaterials(id, materials);
    await database.raw(
      `INSERT INTO locations (shop_id, id, name)
       SELECT ?, CAST(g AS text), 'Before' FROM generate_series(1, CAST(? AS integer)) AS g`,
      [id, locations],
    );
    const virtual = `(SELECT * FROM materials WHERE shop_id = ? AND origin = 'virtual' LIMIT 2000) m`;
    await database.raw(
      `INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
       SELECT shop_id, id, '1', 1000000 * shop_id + row_number() OVER (), 1, 1, now() FROM ${virtual}`,
      [id],
    );
    await database('bills').insert({ shop_id: id, id: '1', kind: 'sub_assembly', name: 'Table' });
    await database.raw(
      `INSERT INTO bill_components (shop_id, material_id, bill_id, quantity)
       SELECT shop_id, id, '1', 1 FROM ${virtual}`,
      [id],
    );
    return id;
  }

  /**
   * Those that the shop does not have already. Every other one is of the platform. There are a thousand vendors, and as
   * many quantities: where all were the same, Postgres found stock by its key in any case.
   */
  async function addMaterials(shopId: number, count: number): Promise<void> {
    const { database } = test;
    await database.raw(
      `INSERT INTO materials (shop_id, id, origin, product_name, vendor, unit_cost)
       SELECT ?, CASE g % 2 WHEN 0 THEN CAST(g AS text) ELSE 'VMAT-' || CAST(md5(CAST(g AS text)) AS uuid) END,
              CASE g % 2 WHEN 0 THEN 'platform' ELSE 'virtual' END, 'Oak ' || g, 'Vendor ' || g % 1000, g % 997
       FROM generate_series(1, CAST(? AS integer)) AS g ON CONFLICT DO NOTHING`,
      [shopId, count],
    );
    await database.raw(
      `INSERT INTO stock (shop_id, material_id, total_quantity, updated_at)
       SELECT shop_id, id, coalesce(unit_cost, 0), now() FROM materials
       WHERE shop_id = ? AND id NOT IN (SELECT material_id FROM stock WHERE shop_id = ?)`,
      [shopId, shopId],
    );
    await database.raw(
      `INSERT INTO platform_sightings (shop_id, kind, id, generation)
       SELECT shop_id, 'variant', id, 0 FROM materials WHERE shop_id = ? AND origin = 'platform'
       ON CONFLICT DO NOTHING`,
      [shopId],
    );
  }

  async function startRun(): Promise<void> {
    await takeSync(test.database, hold, { domain, everyMs: 0 });
    run = (await startSyncRun(test.database, hold, domain)) ?? expect.fail('the hold is lost');
  }

  /** Of each statement as it is run once more; without those that say where a run stands, or that it is done. */
  async function plansOf(use: () => Promise<unknown>, beforeEach?: () => Promise<unknown>): Promise<PlanNode[]> {
    const plans: PlanNode[] = [];
    const sent = await sentDuring(test.database, use);
    const isPlanned = ({ text, values = [] }: QueryConfig) =>
      values.length > 0 && !/platform_syncs|operations/.test(text);
    for (const { text, values = [] } of sent.filter(isPlanned)) {
      await beforeEach?.();
      // Without its name, for its values: so are the first five of a connection planned.
      plans.push(await planOf(test.database, { text, values }, { isRun: true }));
    }
    return plans;
  }

  const rowsOfLargest = (plans: PlanNode[]) => Math.max(...plans.map((plan) => rowsLookedAt(plan)));

  it('a page of the mirror reads its own materials alone', async () => {
    for (const firstId of [2, materials + 2]) {
      const page = Array.from({ length: 50 }, (_, index) => variantOf(firstId + 2 * index));
      const plans = await plansOf(async () => {
        run = (await recordVariants(test.database, hold, run, page, position))?.sync ?? expect.fail('not recorded');
      });
      expect(rowsOfLargest(plans)).to.be.within(page.length, 20 * page.length);
      expectPrimaryKeys(plans);
    }
  });

  it('a page of locations reads its own alone', async () => {
    const { database } = test;
    const page = Array.from({ length: 50 }, (_, index) => ({ id: String(index + 1), name: 'After' }));
    const plans = await plansOf(
      async () => {
        run = (await recordLocations(database, hold, run, page, position))?.sync ?? expect.fail('not recorded');
      },
      () => database('locations').where({ shop_id: hold.shopId }).update({ name: 'Before' }),
    );
    expect(rowsOfLargest(plans)).to.be.within(page.length, 20 * page.length);
    expectPrimaryKeys(plans);
  });

  it('the end of a run goes through what the shop has once, and through what is gone', async () => {
    const { database } = test;
    const plans = await plansOf(
      async () => {
        const finished = await finishSync(database, hold, run, { removeGone: false });
        expect(finished?.goneCount).to.be.above(materials / 2 - 100);
      },
      () => database('platform_sightings').where({ shop_id: hold.shopId }).update({ gone_since: null }),
    );
    expect(rowsOfLargest(plans)).to.be.within(materials / 2, 3 * materials);
    // Those of the platform, and once more the few whose names are told; none that are virtual.
    const ofMaterials = plans.map((plan) => rowsLookedAt(plan, 'materials')).reduce((sum, rows) => sum + rows, 0);
    expect(ofMaterials).to.be.within(materials / 2, materials / 2 + 200);
  });

  it('the removal of what is gone goes through what the shop has once, and looks each up by its key', async () => {
    const { database } = test;
    const sightings = () => database('platform_sightings').where({ shop_id: hold.shopId });
    await startRun();
    await sightings().update({ generation: run.generation, gone_since: null });
    const first = sightings()
      .where({ kind: 'variant' })
      .whereRaw('CAST(id AS integer) <= ?', [2 * goneCount]);
    await first.update({ generation: 0 });
    const plans = await plansOf(
      async () => {
        const finished = await finishSync(database, hold, run, { removeGone: true });
        expect(finished).to.include({ removedCount: goneCount, goneCount: 0 });
      },
      // What the run has removed is put back before each statement is planned.
      async () => {
        await addMaterials(hold.shopId, 2 * goneCount);
        await sightings().where({ generation: 0 }).update({ gone_since: new Date() });
      },
    );
    expect(rowsOfLargest(plans)).to.be.within(materials / 2, 3 * materials);
    expectPrimaryKeys(plans);
  });

  it('whether an import may have ids is looked up by these alone, and so are the levels of a material', async () => {
    const { database } = test;
    const ids = Array.from({ length: 50 }, (_, index) => String(2 + 2 * index));
    const [first = ''] = ids;
    for (const use of [
      () => takenIds(database, hold.shopId, ids),
      () => findLevels(database, hold.shopId, first),
      () => findLevels(database, hold.shopId, first, ['1']),
    ]) {
      const plans = await plansOf(use);
      expect(plans).to.have.lengthOf(1);
      expect(rowsOfLargest(plans)).to.be.within(1, 2 * ids.length);
      expectPrimaryKeys(plans);
    }
  });

  it('verify of lists looks at the facet of each material alone', async () => {
    const plans = await plansOf(() => checkLists(test.database, { shopId: hold.shopId }));
    expect(rowsOfLargest(plans)).to.be.within(5_000, 6 * 5_000);
  });
});

const indexesOf = (plan: PlanNode): string[] => [
  ...(plan['Index Name'] === undefined ? [] : [plan['Index Name']]),
  ...(plan.Plans ?? []).flatMap(indexesOf),
];

/** An index of a sort key ends with the id as well. It is read from end to end for one, and only the one counts. */
function expectPrimaryKeys(plans: readonly PlanNode[]): void {
  for (const index of plans.flatMap(indexesOf)) expect(index).to.match(/_pkey$/);
}

function variantOf(id: number): MirroredVariant {
  return {
    id: String(id),
    productName: 'Oak',
    variantName: null,
    sku: null,
    vendor: 'Vendor 2',
    unitPrice: null,
    unitCost: null,
    imageUrl: null,
    inventoryQuantity: 1,
  };
}
