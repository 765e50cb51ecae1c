import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import {
  facetsOfVendors,
  insertMaterialsWithStock,
  insertParameters,
} from '../../../shared/database/insert-materials-with-stock.js';
import type { Material } from '../../../shared/domain/material.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { connectForTest } from '../../support/database/database.js';
import { racingDatabase } from '../../support/database/racing-database.js';
import { document } from '../../support/http/documented.js';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath, materialPath } from '../../support/http/material-paths.js';
import { expectData } from '../../support/http/reply.js';
import { addOne } from '../../support/shop/change.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const pageSize = 5;
/** How far back before the newest time seen last, as the list is described. */
const backMs = 10_000;

describe('GET /v1/raw-materials while materials change', () => {
  const http = useHttpService();

  /** A page in the order in which all can be read. */
  async function newest(shop: TestShop, page: number): Promise<Material[]> {
    const path = `${listPath}?sortBy=updatedAt&sortOrder=desc&pageSize=${pageSize}&page=${page}`;
    return (expectData(await http.ask({ path, key: shop.readKey }), 'list') as { items: Material[] }).items;
  }

  /** What has changed since the mark, and the next mark: as the list's description says it. */
  async function follow(shop: TestShop, mark?: string): Promise<{ found: Map<string, Material>; mark: string }> {
    const downTo = mark === undefined ? '' : new Date(Date.parse(mark) - backMs).toISOString();
    const found = new Map<string, Material>();
    let nextMark = '';
    for (let page = 1; ; page += 1) {
      const items = await newest(shop, page);
      if (page === 1) nextMark = items[0]?.updatedAt ?? '';
      for (const item of items) if (!found.has(item.id)) found.set(item.id, item);
      if (items.length < pageSize || items.some(({ updatedAt }) => updatedAt < downTo))
        return { found, mark: nextMark };
    }
  }

  async function rename(shop: TestShop, id: string, productName: string): Promise<void> {
    const asked = { method: 'PATCH', path: materialPath(id), key: shop.writeKey, body: { productName } };
    expectData(await http.ask(asked), 'material');
  }

  it('says how to read all pages, and how to follow changes', () => {
    const { description } = document.paths['/v1/raw-materials']!['get'] as { description: string };
    expect(description).to.contain('sort by `updatedAt` descending and drop ids seen before');
    expect(description).to.contain('If `totalCount` has shrunk, begin again.');
    expect(description).to.contain('down to ten seconds before the newest `updatedAt` seen last time');
    expect(description).to.contain('After an import read the whole list');
    const { properties } = document.components.schemas['Material'] as { properties: Record<string, object> };
    expect(properties['updatedAt']).to.have.property('description').that.contains('up to some seconds after this time');
  });

  it('newest first, its pages hold all that did not change, and the first ones then what did', async () => {
    const shop = await createTestShop(http.database, { materials: 8 * pageSize });
    const { mark } = await follow(shop);
    const seen = new Set<string>();
    const renamed = new Set<string>();
    for (let page = 1; ; page += 1) {
      const items = await newest(shop, page);
      for (const { id } of items) seen.add(id);
      if (items.length < pageSize) break;
      const [read] = items;
      const unread = shop.materialIds.find((id) => !seen.has(id));
      for (const id of [read!.id, ...(unread === undefined ? [] : [unread])]) {
        renamed.add(id);
        await rename(shop, id, `Renamed on page ${page}`);
      }
    }
    const missed = shop.materialIds.filter((id) => !seen.has(id));
    expect([...renamed]).to.include.members(missed);
    const { found } = await follow(shop, mark);
    expect([...found.keys()]).to.include.members([...renamed]);
  });

  it('shows a change that was committed late below one made after it, where who follows finds it', async () => {
    const shop = await createTestShop(http.database, { materials: 3 * pageSize });
    const [late = '', early = ''] = shop.materialIds;
    const [locationId = ''] = shop.locationIds;
    const database = connectForTest(http.service.databaseUrl, { pipeline: true });
    let { mark } = await follow(shop);
    try {
      // Between the read of the material, which takes its time, and the COMMIT.
      const paused = racingDatabase(database, async () => {
        expect((await addOne(http.baseUrl, shop, { materialId: early })).status).to.equal(200);
        const before = await follow(shop, mark);
        expect(before.found.get(early)).to.include({ inventoryQuantity: 1, updatedAt: before.mark });
        expect(before.found.get(late)?.inventoryQuantity).to.equal(0);
        mark = before.mark;
      });
      const operations = [operationOf({ kind: 'adjust', rows: [{ locationId, delta: 7_000_000 }] })];
      await applyOperations(paused, [{ shopId: shop.shopId, materialId: late, operations }], { nowMs: Date.now });
    } finally {
      await database.destroy();
    }
    const changed = (await follow(shop, mark)).found.get(late);
    expect(changed).to.include({ inventoryQuantity: 7 });
    expect(changed!.updatedAt < mark, `${changed?.updatedAt} is below ${mark}`).to.equal(true);
  });

  it('shows what is imported at the end of the import, with the time of its start', async () => {
    const shop = await createTestShop(http.database);
    const id = 'VMAT-imported';
    const [facetId = 0] = await facetsOfVendors(http.database, shop.shopId, [null]);
    const stocked = { id, fields: { productName: 'Imported' }, total: 0, levels: [] };
    let startedAt = '';
    let mark = '';
    await http.database.transaction(async (transaction) => {
      const { rows } = await transaction.raw<{ rows: { now: Date }[] }>('SELECT now()::timestamptz(3)');
      startedAt = rows[0]?.now.toISOString() ?? '';
      const parameters = insertParameters(shop.shopId, 'import', [{ material: stocked, facetId }]);
      await insertMaterialsWithStock(transaction, parameters);
      expect((await addOne(http.baseUrl, shop)).status).to.equal(200);
      const before = await follow(shop);
      expect([...before.found.keys()]).to.deep.equal(shop.materialIds);
      ({ mark } = before);
    });
    const imported = (await follow(shop)).found.get(id);
    expect(imported).to.include({ createdAt: startedAt, updatedAt: startedAt });
    expect(startedAt < mark, `${startedAt} is below ${mark}`).to.equal(true);
  });

  it('does not count a new use of a material as a change of it', async () => {
    const shop = await createTestShop(http.database);
    const [before] = await newest(shop, 1);
    const components = [{ materialId: before!.id, quantity: 1_000_000 }];
    await createBill(http.database, shop.shopId, { id: 'b', kind: 'sub_assembly', name: 'Frame', components });
    const usage = { billOfMaterials: 0, subAssemblies: 1 };
    expect(await newest(shop, 1)).to.deep.equal([{ ...before, usage }]);
  });
});
