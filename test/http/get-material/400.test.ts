import { useHttpService } from '../../support/http/http-service.js';
import { badIds, materialPath } from '../../support/http/material-paths.js';
import { expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const id of badIds) {
    it(`${id} is no id`, async () => {
      expectFaults(await http.ask({ path: materialPath(id), key: shop.readKey }), ['variantId']);
    });
  }

  for (const query of ['=yes', '=1', '=', '=TRUE', '', '=true&includeConnections=true']) {
    it(`?includeConnections${query} is refused`, async () => {
      const path = `${materialPath(shop.materialIds[0]!)}?includeConnections${query}`;
      expectFaults(await http.ask({ path, key: shop.readKey }), ['includeConnections']);
    });
  }
});
