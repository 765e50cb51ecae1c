import { expect } from 'chai';
import { expectUntouched, settledFootprint } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { impossibleIds, inventoryPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectSameNotFound } from '../../support/http/not-found.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

const updates = [{ locationId: '1001', delta: 1 }];

describe('PATCH /v1/raw-materials/{variantId}/inventory: 404', () => {
  const http = useHttpService();

  for (const id of unknownVirtualIds) {
    it(`${id} is unknown: one error for the request, without details, whatever its rows are`, async () => {
      const shop = await createTestShop(http.database);
      for (const rows of [updates, [{ locationId: 'nowhere', absolute: 1 }, ...updates]]) {
        const asked = { method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates: rows } };
        expect(expectError(await http.ask(asked), 'NOT_FOUND').details).to.equal(undefined);
      }
      const { rows } = await settledFootprint(http, shop.shopId);
      expect(rows['ledger']).to.deep.equal([]);
    });
  }

  for (const id of impossibleIds) {
    it(`${id} cannot be an id and is not queued`, async () => {
      const shop = await createTestShop(http.database);
      const asked = { method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates } };
      expectError(await expectUntouched(http, shop.shopId, () => http.ask(asked)), 'NOT_FOUND');
    });
  }

  it('no row names a location of the shop: collapsed, with the rows in details', async () => {
    const shop = await createTestShop(http.database);
    const path = inventoryPath(shop.materialIds[0]!);
    const rows = ['9', '1001 ', '9'].map((locationId) => ({ locationId, delta: 1 }));
    const answer = await http.ask({ method: 'PATCH', path, key: shop.writeKey, body: { updates: rows } });
    const { details } = expectError(answer, 'NOT_FOUND');
    expect(details?.map((detail) => detail.path)).to.deep.equal(['/updates/0', '/updates/1', '/updates/2']);
    expect(expectData(await http.ask({ path, key: shop.readKey }), 'levels')).to.deep.include({ levels: [] });
  });

  it("another shop's material is the same 404 as none, byte for byte, and stays as it was", async () => {
    const [mine, theirs] = [await createTestShop(http.database), await createTestShop(http.database)];
    const before = await settledFootprint(http, theirs.shopId);
    const ask = (id: string) =>
      http.ask({ method: 'PATCH', path: inventoryPath(id), key: mine.writeKey, body: { updates } });
    expectSameNotFound(await ask(theirs.materialIds[0]!), await ask(unknownVirtualIds[0]));
    expect(await settledFootprint(http, theirs.shopId)).to.deep.equal(before);
  });

  it('a material that is created afterwards does not receive what was refused', async () => {
    const shop = await createTestShop(http.database);
    const id = unknownVirtualIds[0];
    const asked = { method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates } };
    expectError(await http.ask(asked), 'NOT_FOUND');
    const later = await createTestShop(http.database, { materialIds: [id] });
    expect(expectData(await http.ask({ path: inventoryPath(id), key: later.readKey }), 'levels')).to.deep.include({
      levels: [],
    });
  });
});
