import { useHttpService } from '../../support/http/http-service.js';
import { badIds, inventoryPath } from '../../support/http/material-paths.js';
import { expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}/inventory: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const id of badIds) {
    it(`${id} is no id`, async () => {
      expectFaults(await http.ask({ path: inventoryPath(id), key: shop.readKey }), ['variantId']);
    });
  }

  const cases: { title: string; query: string }[] = [
    { title: '251 locations', query: Array.from({ length: 251 }, (_, id) => `locationIds=${id}`).join('&') },
    { title: 'a NUL in a location', query: 'locationIds=1001&locationIds=%00' },
    { title: 'a bad escape in a location', query: 'locationIds=%E0%A4%A' },
    { title: 'a lone surrogate in a location', query: 'locationIds=%ED%A0%80' },
  ];
  for (const { title, query } of cases) {
    it(`${title} is refused`, async () => {
      const path = `${inventoryPath(shop.materialIds[0]!)}?${query}`;
      expectFaults(await http.ask({ path, key: shop.readKey }), ['locationIds']);
    });
  }
});
