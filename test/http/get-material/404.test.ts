import { createMaterials } from '../../../shared/database/create-materials.js';
import { useHttpService } from '../../support/http/http-service.js';
import { impossibleIds, materialPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectSameNotFound } from '../../support/http/not-found.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}: 404', () => {
  const http = useHttpService();

  for (const id of [...unknownVirtualIds, ...impossibleIds, '1', '12345678901234567890']) {
    it(`${id} is unknown`, async () => {
      const shop = await createTestShop(http.database);
      expectError(await http.ask({ path: materialPath(id), key: shop.readKey }), 'NOT_FOUND');
    });
  }

  it('the case of an id matters', async () => {
    const shop = await createTestShop(http.database, { materialIds: ['VMAT-VAR-abc'] });
    expectError(await http.ask({ path: materialPath('VMAT-VAR-ABC'), key: shop.readKey }), 'NOT_FOUND');
  });

  it("another shop's material is the same 404 as none, byte for byte but for the request id", async () => {
    const [mine, theirs] = [await createTestShop(http.database), await createTestShop(http.database)];
    await createMaterials(http.database, theirs.shopId, [{ id: '4711', origin: 'platform', productName: 'Theirs' }]);
    for (const [foreign, missing] of [
      [theirs.materialIds[0]!, unknownVirtualIds[0]],
      ['4711', '4712'],
    ] as const) {
      for (const query of ['', '?includeConnections=true']) {
        const ask = (id: string) => http.ask({ path: materialPath(id) + query, key: mine.readKey });
        expectSameNotFound(await ask(foreign), await ask(missing));
      }
    }
  });
});
