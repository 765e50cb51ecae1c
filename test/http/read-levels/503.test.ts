import { expectGivenUp } from '../../support/http/given-up.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}/inventory: 503', () => {
  const http = useHttpService();

  it('a read that Postgres does not answer in time is given up, and works again once it does', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: inventoryPath(shop.materialIds[0]!), key: shop.readKey };
    await expectGivenUp(http, { table: 'stock', asked, kind: 'levels' });
  });
});
