import type { CommercePlatform, PlatformLevel, PlatformResult } from '../commerce-platform.js';
import { locationGidPrefix, variantGidPrefix } from './global-ids.js';
import { listLocations, listVariants } from './lists.js';
import { nextCursor } from './page-info.js';
import { createShopifyClient } from './shopify-client.js';
import type { ShopifyCall, ShopifyClientDeps } from './shopify-client.js';
import { isVariantLevelsData, levelsPerPage, variantLevelsQuery } from './variant-levels-query.js';
import type { LevelNode, VariantLevelsVariables } from './variant-levels-query.js';

/** The commerce platform Shopify, through its Admin GraphQL API over `fetch` (contract §8). */
export function createShopifyPlatform(deps: ShopifyClientDeps): CommercePlatform {
  const client = createShopifyClient(deps);
  return {
    async readLevels(shop, variantId) {
      if (!/^\d{1,20}$/.test(variantId)) throw new Error('only a numeric variant id may be sent to the platform');
      if (!isShopifyId(variantId)) return { ok: false, error: 'not-found' };
      const call = client.begin(shop);
      if (call === undefined) return { ok: false, error: 'not-callable' };
      return collectLevels(call, variantId);
    },
    listLocations: (shop, after, signal) => listLocations(client, shop, after, signal),
    listVariants: (shop, after, signal) => listVariants(client, shop, after, signal),
  };
}

/** Shopify's ids are positive signed 64-bit integers; `007` is none, though Shopify would take it for 7. */
function isShopifyId(digits: string): boolean {
  return !digits.startsWith('0') && BigInt(digits) < 2n ** 63n;
}

/** 1,000 locations in all, where most shops have fewer than ten. */
const pagesMax = 20;

/** Reads page after page, all or nothing. A location that is on two pages has the level of the later one. */
async function collectLevels(call: ShopifyCall, variantId: string): Promise<PlatformResult<PlatformLevel[]>> {
  const found = new Map<string, PlatformLevel>();
  let after: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const variables: VariantLevelsVariables = { id: variantGidPrefix + variantId, first: levelsPerPage, after };
    const answer = await call.query({ document: variantLevelsQuery, variables, isData: isVariantLevelsData });
    if (!answer.ok) return answer;
    const { productVariant } = answer.data;
    if (productVariant === null) return { ok: false, error: 'not-found' };
    const { nodes, pageInfo } = productVariant.inventoryItem.inventoryLevels;
    for (const level of nodes.map(toLevel)) found.set(level.locationId, level);
    const end = nextCursor(pageInfo, { after, size: nodes.length });
    if (!end.ok) return call.distrust(end.detail);
    if (end.next === null) return { ok: true, data: [...found.values()] };
    after = end.next;
  }
  return call.distrust(`over ${pagesMax} pages`);
}

function toLevel({ location, quantities: [available] }: LevelNode): PlatformLevel {
  const updatedAt = available.updatedAt === null ? null : new Date(available.updatedAt).toISOString();
  return { locationId: location.id.slice(locationGidPrefix.length), quantity: available.quantity, updatedAt };
}
