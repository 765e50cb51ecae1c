import { createMaterials } from '../../../shared/database/create-materials.js';
import { startStandInPlatform } from '../../../shared/standalone/stand-in-platform.js';
import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { impossibleIds, inventoryPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectSameNotFound } from '../../support/http/not-found.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}/inventory: 404', () => {
  const http = useHttpService();

  for (const id of [...unknownVirtualIds, ...impossibleIds, '1']) {
    it(`${id} is unknown`, async () => {
      const shop = await createTestShop(http.database);
      for (const query of ['', '?locationIds=1001']) {
        expectError(await http.ask({ path: inventoryPath(id) + query, key: shop.readKey }), 'NOT_FOUND');
      }
    });
  }

  it("another shop's material is the same 404 as none, byte for byte but for the request id", async () => {
    const [mine, theirs] = [await createTestShop(http.database), await createTestShop(http.database)];
    await createMaterials(http.database, theirs.shopId, [{ id: '4711', origin: 'platform', productName: 'Theirs' }]);
    for (const [foreign, missing] of [
      [theirs.materialIds[0]!, unknownVirtualIds[0]],
      ['4711', '4712'],
    ] as const) {
      const ask = (id: string) => http.ask({ path: inventoryPath(id), key: mine.readKey });
      expectSameNotFound(await ask(foreign), await ask(missing));
    }
  });

  it('a variant that the shop does not know is not asked for on the platform', async () => {
    const platform = await startScriptedPlatform((_request, response) => response.writeHead(500).end());
    try {
      const shop = await createTestShop(http.database);
      await connectPlatform(http.database, shop.shopId, platform.url);
      expectError(await http.ask({ path: inventoryPath('8001'), key: shop.readKey }), 'NOT_FOUND');
      expect(platform.calls).to.equal(0);
    } finally {
      await platform.stop();
    }
  });

  it('a variant that the platform no longer knows is not found', async () => {
    const platform = await startStandInPlatform();
    try {
      const shop = await createTestShop(http.database);
      await connectPlatform(http.database, shop.shopId, platform.url);
      await createMaterials(http.database, shop.shopId, [{ id: '9', origin: 'platform', productName: 'Gone' }]);
      expectError(await http.ask({ path: inventoryPath('9'), key: shop.readKey }), 'NOT_FOUND');
    } finally {
      await platform.stop();
    }
  });
});
