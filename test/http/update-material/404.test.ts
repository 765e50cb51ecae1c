import { settledFootprint } from '../../support/shop/footprint.js';
import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { impossibleIds, materialPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectSameNotFound } from '../../support/http/not-found.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}: 404', () => {
  const http = useHttpService();

  for (const id of unknownVirtualIds) {
    it(`${id} is unknown, with and without a field to change`, async () => {
      const shop = await createTestShop(http.database);
      for (const body of [{ sku: 'x' }, {}]) {
        expectError(await http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body }), 'NOT_FOUND');
      }
    });
  }

  for (const id of impossibleIds) {
    it(`${id} cannot be an id and is not queued`, async () => {
      const shop = await createTestShop(http.database);
      const answer = await expectUntouched(http, shop.shopId, () =>
        http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body: { sku: 'x' } }),
      );
      expectError(answer, 'NOT_FOUND');
    });
  }

  it("another shop's material is the same 404 as none, byte for byte, and stays as it was", async () => {
    const [mine, theirs] = [await createTestShop(http.database), await createTestShop(http.database)];
    const before = await settledFootprint(http, theirs.shopId);
    for (const body of [{ sku: 'mine' }, { inventoryQuantity: 5 }, {}]) {
      const ask = (id: string) => http.ask({ method: 'PATCH', path: materialPath(id), key: mine.writeKey, body });
      expectSameNotFound(await ask(theirs.materialIds[0]!), await ask(unknownVirtualIds[0]));
    }
    expect(await settledFootprint(http, theirs.shopId)).to.deep.equal(before);
  });
});
