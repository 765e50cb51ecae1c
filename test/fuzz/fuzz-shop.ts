import type { Database } from '../../shared/database/connect.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/** The one material of the platform, which is not connected. */
export const platformId = '8005';
export const fuzzedIds = ['VMAT-FUZZ-1', 'VMAT-FUZZ-2', 'VMAT-FUZZ-3', 'VMAT-FUZZ-4'];

/** A shop that takes whatever comes: negative levels, and a limit that no run reaches. */
export async function openFuzzShop(database: Database): Promise<TestShop> {
  const shop = await createTestShop(database, {
    materialIds: fuzzedIds,
    allowNegative: true,
    rateLimitPoints: 2_000_000_000,
  });
  await createMaterials(database, shop.shopId, [
    { id: platformId, origin: 'platform', productName: 'Jar', mirroredQuantity: 1_000_000 },
  ]);
  return shop;
}

/** The dice of one case: the same whatever ran beside it, so that a case can be run alone. */
export function caseSeed(seed: number, index: number): number {
  return (seed + Math.imul(index + 1, 0x9e37_79b1)) >>> 0;
}
