import type { Database } from '../../../shared/database/connect.js';
import { createShop, findShop } from '../../../shared/database/shops.js';
import type { Shop } from '../../../shared/database/shops.js';
import { syncShop } from '../../../shared/mirror/sync-shop.js';
import type { SyncDeps, SyncOptions, SyncOutcome } from '../../../shared/mirror/sync-shop.js';
import type { ShopifyLimits } from '../../../shared/platform/shopify/shopify-client.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { createSubject } from '../platform/fixtures.js';
import {
  locationNode,
  locationsReply,
  onLocations,
  onVariants,
  variantNode,
  variantsReply,
} from '../platform/list-fixtures.js';

/** The domain on which `test/unit/platform/fixtures.ts` prepares replies. */
export const domain = 'demo-shop.myshopify.com';

/** A shop that is connected to a platform and knows nothing of it yet. */
export async function createConnectedShop(database: Database, at = domain): Promise<Shop> {
  const { id } = await createShop(database, { name: 'Mirror', plan: 'enhanced' });
  await connectPlatform(database, id, at, 'token-of-the-shop');
  return readShop(database, id);
}

export async function readShop(database: Database, shopId: number): Promise<Shop> {
  const shop = await findShop(database, shopId);
  if (shop === undefined) throw new Error('no such shop');
  return shop;
}

/**
 * What a run needs, on a fake clock, with what the adapter reported; one adapter, and so one circuit, for all its runs.
 */
export function createSync(database: Database, limits: Partial<ShopifyLimits> = {}) {
  const { platform, clock, events } = createSubject(limits);
  const deps: SyncDeps = { database, platform, tokenCipher: createTokenCipher(platformTokenKey) };
  return {
    clock,
    events,
    deps,
    run: (shop: Shop, options?: SyncOptions): Promise<SyncOutcome> => syncShop(deps, shop, options),
  };
}

/** The one location of most tests' shops. */
export function expectLocations(): void {
  onLocations(null).reply(200, locationsReply([locationNode(1)]));
}

/** A mirror whose run was cut off: it has one page of variants, and goes on at the cursor `v1`. */
export async function cutOffAtV1(database: Database) {
  const shop = await createConnectedShop(database);
  const { run } = createSync(database);
  expectLocations();
  onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
  onVariants('v1').reply(401, '');
  await run(shop);
  return { shop, run };
}

/** The mirrored rows as they stand, without times; and with them, to see that nothing was written. */
export async function readMirror(database: Database, shopId: number) {
  const { rows: materials } = await database.raw<{ rows: Record<string, unknown>[] }>(
    `SELECT m.*, s.total_quantity, s.updated_at FROM materials m JOIN stock s ON s.shop_id = m.shop_id AND s.material_id = m.id
     WHERE m.shop_id = ? ORDER BY m.id`,
    [shopId],
  );
  const { rows: locations } = await database.raw<{ rows: Record<string, unknown>[] }>(
    'SELECT * FROM locations WHERE shop_id = ? ORDER BY id',
    [shopId],
  );
  return { materials, locations };
}
