import { useHttpService } from '../../support/http/http-service.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const paths = [
  '/',
  '/v1',
  '/v1/',
  '/v2/raw-materials',
  '/raw-materials',
  '/V1/raw-materials',
  '/v1/Raw-Materials',
  '/V1/Raw-Materials/gid://shopify/ProductVariant/1',
  '/v1/raw-materials/',
  '/v1/raw-material',
  '/v1/raw-materials//inventory',
  '/v1/raw-materials/VMAT-x/',
  '/v1/raw-materials/VMAT-x/inventory/',
  '/v1/raw-materials/VMAT-x/Inventory',
  '/v1/raw-materials/VMAT-x/levels',
  '/v1/raw-materials/VMAT-x/inventory/1/2',
  '/v1/raw-materials/a/b/c/d',
  '/v1/raw-materials/../raw-materials',
  '/v1%2Fraw-materials',
  '/healthz/',
  '/HEALTHZ',
  '/favicon.ico',
  '/.env',
  '/constructor',
  '/__proto__',
];

describe('an unknown path: 404', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  for (const path of paths) {
    it(`${path}, whatever the method`, async () => {
      for (const method of ['GET', 'PATCH', 'POST', 'DELETE', 'PROPFIND']) {
        expectError(await http.ask({ method, path, key: shop.writeKey }), 'NOT_FOUND');
      }
    });
  }
});
