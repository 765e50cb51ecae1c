import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { finishSync } from '../../../shared/database/finish-sync.js';
import {
  facetsOfVendors,
  insertMaterialsWithStock,
  insertParameters,
} from '../../../shared/database/insert-materials-with-stock.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { recordLocations, recordVariants } from '../../../shared/database/platform-mirror.js';
import { listSyncs, startSyncRun, takeSync, whileHeld } from '../../../shared/database/platform-syncs.js';
import type { PlatformSync, SyncHold } from '../../../shared/database/platform-syncs.js';
import { updateShop } from '../../../shared/database/shops.js';
import { toMicros } from '../../../shared/domain/quantity.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { withoutTimeouts } from '../../support/without-timeouts.js';

const domain = 'demo-shop.myshopify.com';
const toVariants = { phase: 'variants', cursor: 'next' } as const;

describe('a mirror beside others who write', () => {
  const postgres = useDatabase({ poolMax: 6, pipeline: true });
  let shop: TestShop;
  let hold: SyncHold;
  beforeEach(async () => {
    shop = await createTestShop(postgres.database, { materials: 2 });
    await updateShop(postgres.database, shop.shopId, { platform: { domain, tokenSealed: Buffer.from('sealed') } });
    hold = { shopId: shop.shopId, token: randomUUID() };
    await takeSync(postgres.database, hold, { domain, everyMs: 0 });
    await startSyncRun(postgres.database, hold, domain);
  });

  const variant = (id: string, vendor: string, inventoryQuantity: number) => {
    const unknown = { variantName: null, sku: null, unitPrice: null, unitCost: null, imageUrl: null };
    return { id, productName: `Product ${id}`, vendor, inventoryQuantity, ...unknown };
  };
  const known = async (by: Database) => (await listSyncs(by)).get(shop.shopId) as PlatformSync;
  const record = async (variants: ReturnType<typeof variant>[], by: Database = withoutTimeouts(postgres.database)) =>
    recordVariants(by, hold, await known(by), variants, toVariants);
  const bill = (name: string, ids: readonly string[], by = postgres.database) => {
    const components = ids.map((materialId) => ({ materialId, quantity: 1_000_000 }));
    return createBill(by, shop.shopId, { id: name, kind: 'bill_of_materials', name, components });
  };
  const expectTrue = async () => expect((await checkLists(postgres.database)).mismatches).to.deep.equal([]);

  it('does not wait in a circle with a bill of the same material: both take it before its stock', async () => {
    await record([variant('11', 'Acme', 1)]);
    const gate = await postgres.database.transaction();
    await gate.raw(`SELECT 1 FROM stock WHERE shop_id = ? AND material_id = '11' FOR UPDATE`, [shop.shopId]);
    const recording = record([variant('11', 'Zeta', 2)]);
    await untilWaiting(postgres.database, 1);
    const billing = bill('b', ['11']);
    await untilWaiting(postgres.database, 2).finally(() => gate.commit());
    await Promise.all([recording, billing]);
    await expectTrue();
  });

  it('does not wait in a circle with a bill of materials of the same vendors: both make their facets in one order', async () => {
    const places = Array.from({ length: 40 }, (_, place) => String(place).padStart(2, '0'));
    const [ours, theirs] = [places.map((place) => `1${place}`), places.map((place) => `2${place}`)];
    const vendors = places.map((place) => `Vendor ${place}`);
    await record(ours.map((id) => variant(id, 'Acme', 0)));
    await record(theirs.map((id, index) => variant(id, vendors[index] ?? '', 0)));
    await bill('ours', ours);
    // Both come as far as a facet in the middle, which a third one makes; each holds what it has made until then.
    const middle = await postgres.database.transaction();
    await middle.raw(`SELECT facet_of(?, ?, 'platform', true)`, [shop.shopId, vendors[20] ?? '']);
    const recording = record(ours.map((id, index) => variant(id, vendors.at(-1 - index) ?? '', 0)));
    const billing = bill('theirs', theirs);
    await untilWaiting(postgres.database, 2).finally(() => middle.rollback());
    await Promise.all([recording, billing]);
    await expectTrue();
  });

  it('draws no facet of unused materials for what it knows and a bill uses', async () => {
    await record([variant('11', 'Acme', 1)]);
    await bill('b', ['11']);
    for (const quantity of [1, 2]) await record([variant('11', 'Zeta', quantity)]);
    const { rows } = await postgres.database.raw<{ rows: object[] }>(
      `SELECT is_used, origin FROM facets WHERE shop_id = ? AND vendor = 'Zeta'`,
      [shop.shopId],
    );
    expect(rows).to.deep.equal([{ is_used: true, origin: 'platform' }]);
    await expectTrue();
  });

  describe('that removes what is gone', () => {
    beforeEach(async () => {
      for (const id of ['11', '12'])
        await createMaterials(postgres.database, shop.shopId, [{ id, origin: 'platform', productName: id }]);
    });
    const remove = async () =>
      finishSync(withoutTimeouts(postgres.database), hold, await known(postgres.database), { removeGone: true });

    it('does not wait in a circle with a bill of the same materials: both take these in one order', async () => {
      const gate = await postgres.database.transaction();
      await gate.raw(`SELECT 1 FROM materials WHERE shop_id = ? AND id = '11' FOR UPDATE`, [shop.shopId]);
      const removing = remove();
      await untilWaiting(postgres.database, 1);
      const billing = bill('b', ['12', '11']).catch((error: unknown) => error);
      await untilWaiting(postgres.database, 2).finally(() => gate.commit());
      expect(await removing).to.include({ removedCount: 2 });
      expect(await billing, 'what it needs is gone').to.include({ constraint: 'bill_components_material_fkey' });
      await expectTrue();
    });

    it('leaves what somebody has added to a bill meanwhile', async () => {
      const adding = await postgres.database.transaction();
      await bill('b', ['12'], adding);
      const removing = remove();
      await untilWaiting(postgres.database, 1).finally(() => adding.commit());
      expect(await removing).to.deep.include({ removedCount: 1, goneCount: 1 });
      await expectTrue();
    });
  });

  it('keeps who would take it over waiting until a page is written, though its lease has run out', async () => {
    const { database } = postgres;
    await database.raw('UPDATE platform_syncs SET lease_until = now() WHERE shop_id = ?', [shop.shopId]);
    let taking: Promise<unknown> = Promise.resolve();
    const first = await whileHeld(withoutTimeouts(database), hold, await known(database), () => {
      taking = takeSync(database, { shopId: shop.shopId, token: randomUUID() }, { domain, everyMs: 0 });
      return Promise.race([taking.then(() => 'taken'), untilWaiting(database, 1).then(() => 'waits')]);
    });
    expect(first).to.equal('waits');
    expect(await taking, 'once the page is written').to.not.equal(undefined);
  });

  it('keeps no cycle and no import waiting, and so meets none in a circle', async () => {
    const [materialId = ''] = shop.materialIds;
    const [locationId = ''] = shop.locationIds;
    await postgres.database.transaction(async (page) => {
      const names = [{ id: locationId, name: 'Renamed' }];
      await recordLocations(withoutTimeouts(page), hold, await known(page), names, toVariants);
      await record([variant('11', 'Same', 1), variant('12', 'Same', 1)], withoutTimeouts(page));
      const [book, update] = [
        operationOf({ kind: 'adjust', rows: [{ locationId, delta: toMicros(1) }] }),
        operationOf({ kind: 'update', changes: { vendor: 'Same' } }),
      ];
      const group = { shopId: shop.shopId, materialId, operations: [book, update] };
      const { outcomes } = await applyOperations(postgres.database, [group], { nowMs: Date.now });
      expect([...outcomes.values()].map(({ status }) => status)).to.deep.equal(['executed', 'executed']);
      const [facetId = 0] = await facetsOfVendors(postgres.database, shop.shopId, ['Same']);
      const levels = [{ locationId, quantity: toMicros(1) }];
      const material = { id: 'VMAT-i', fields: { productName: 'i', vendor: 'Same' }, total: toMicros(1), levels };
      const parameters = insertParameters(shop.shopId, 'import', [{ material, facetId }]);
      await postgres.database.transaction((transaction) => insertMaterialsWithStock(transaction, parameters));
    });
    await expectTrue();
  });
});
