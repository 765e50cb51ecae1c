import { inventoryPath, listPath, materialPath } from './material-paths.js';
import type { Asked } from './http.js';
import type { TestShop } from '../shop/shop.js';

/** Every route under /v1, with a request that it would answer with 200 (contract §1). */
export const routes: { title: string; scope: 'read' | 'write'; asked: (shop: TestShop) => Asked }[] = [
  { title: 'GET /v1/raw-materials', scope: 'read', asked: () => ({ path: listPath }) },
  {
    title: 'GET /v1/raw-materials/{variantId}',
    scope: 'read',
    asked: ({ materialIds: [id = ''] }) => ({ path: materialPath(id) }),
  },
  {
    title: 'PATCH /v1/raw-materials/{variantId}',
    scope: 'write',
    asked: ({ materialIds: [id = ''] }) => ({ method: 'PATCH', path: materialPath(id), body: { sku: 'x' } }),
  },
  {
    title: 'GET /v1/raw-materials/{variantId}/inventory',
    scope: 'read',
    asked: ({ materialIds: [id = ''] }) => ({ path: inventoryPath(id) }),
  },
  {
    title: 'GET /v1/raw-materials/{variantId}/inventory/history',
    scope: 'read',
    asked: ({ materialIds: [id = ''] }) => ({ path: `${inventoryPath(id)}/history` }),
  },
  {
    title: 'PATCH /v1/raw-materials/{variantId}/inventory',
    scope: 'write',
    asked: ({ materialIds: [id = ''], locationIds: [locationId = ''] }) => {
      return { method: 'PATCH', path: inventoryPath(id), body: { updates: [{ locationId, delta: 1 }] } };
    },
  },
];
