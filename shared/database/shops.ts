import type { Database } from './connect.js';
import { violatedConstraint } from './errors.js';
import { readRows } from './read-rows.js';

export type Plan = 'basic' | 'enhanced';

export interface Shop {
  id: number;
  name: string;
  plan: Plan;
  allowNegativeInventory: boolean;
  /** Where a written `inventoryQuantity` is booked (contract §4). */
  defaultLocationId: string | null;
  /** Requests a window, where the shop has a limit of its own (contract §6). */
  rateLimitPoints: number | null;
  platform: ShopPlatform | null;
}

export interface ShopPlatform {
  domain: string;
  /** As `TokenCipher.seal` returns it. */
  tokenSealed: Buffer;
}

export interface NewShop {
  name: string;
  plan: Plan;
  allowNegativeInventory?: boolean;
  rateLimitPoints?: number | null;
}

/** Only what is given is changed. */
export type ShopChanges = { [Name in Exclude<keyof Shop, 'id'>]?: Shop[Name] | undefined };

export type UpdateShopResult = { ok: true; shop: Shop } | { ok: false; error: 'unknown-shop' | 'unknown-location' };

export async function findShop(database: Database, shopId: number): Promise<Shop | undefined> {
  const [row] = await readRows<ShopRow>(database, `SELECT ${shopColumns} FROM shops s WHERE s.id = :shopId`, {
    shopId,
  });
  return row && toShop(row);
}

/** As `findShop`, and locks it until the transaction ends, so that it can be looked at and then changed. */
export async function lockShop(transaction: Database, shopId: number): Promise<Shop | undefined> {
  const { rows } = await transaction.raw<{ rows: ShopRow[] }>(
    `SELECT ${shopColumns} FROM shops s WHERE s.id = ? FOR NO KEY UPDATE`,
    [shopId],
  );
  return rows[0] && toShop(rows[0]);
}

/** Every shop, oldest first. For operators only. */
export async function listShops(database: Database): Promise<Shop[]> {
  const { rows } = await database.raw<{ rows: ShopRow[] }>(`SELECT ${shopColumns} FROM shops s ORDER BY s.id`);
  return rows.map(toShop);
}

/**
 * Adds a shop. It has no location yet, so no default one, and no platform: a token is sealed for the shop's id, so
 * `updateShop` connects it.
 */
export async function createShop(database: Database, shop: NewShop): Promise<Shop> {
  const { name, plan, allowNegativeInventory = false, rateLimitPoints = null } = shop;
  const { rows } = await database.raw<{ rows: ShopRow[] }>(
    `INSERT INTO shops AS s (name, plan, allow_negative_inventory, rate_limit_points) VALUES (?, ?, ?, ?)
     RETURNING ${shopColumns}`,
    [name, plan, allowNegativeInventory, rateLimitPoints],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an insert of a shop returned no row');
  return toShop(row);
}

/** A default location must be one of the shop's own: `unknown-location` otherwise, and nothing is changed. */
export async function updateShop(database: Database, shopId: number, changes: ShopChanges): Promise<UpdateShopResult> {
  const columns = toColumns(changes);
  try {
    if (Object.keys(columns).length > 0) {
      // In a transaction (or savepoint) of its own, so that a refusal leaves the caller's transaction usable.
      await database.transaction((own) => own('shops').where({ id: shopId }).update(columns));
    }
  } catch (error) {
    if (violatedConstraint(error) === 'shops_default_location_fkey') return { ok: false, error: 'unknown-location' };
    throw error;
  }
  const shop = await findShop(database, shopId);
  return shop === undefined ? { ok: false, error: 'unknown-shop' } : { ok: true, shop };
}

/** Of `shops s`; read by `toShop`. */
export const shopColumns = `s.id, s.name, s.plan, s.allow_negative_inventory, s.default_location_id, s.rate_limit_points,
  s.platform_domain, s.platform_token_sealed`;

export interface ShopRow {
  id: number;
  name: string;
  plan: Plan;
  allow_negative_inventory: boolean;
  default_location_id: string | null;
  rate_limit_points: number | null;
  platform_domain: string | null;
  platform_token_sealed: Buffer | null;
}

export function toShop(row: ShopRow): Shop {
  const { platform_domain: domain, platform_token_sealed: tokenSealed } = row;
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    allowNegativeInventory: row.allow_negative_inventory,
    defaultLocationId: row.default_location_id,
    rateLimitPoints: row.rate_limit_points,
    platform: domain === null || tokenSealed === null ? null : { domain, tokenSealed },
  };
}

function toColumns(changes: ShopChanges): Partial<ShopRow> {
  const { name, plan, allowNegativeInventory, defaultLocationId, rateLimitPoints, platform } = changes;
  return {
    ...(name !== undefined && { name }),
    ...(plan !== undefined && { plan }),
    ...(allowNegativeInventory !== undefined && { allow_negative_inventory: allowNegativeInventory }),
    ...(defaultLocationId !== undefined && { default_location_id: defaultLocationId }),
    ...(rateLimitPoints !== undefined && { rate_limit_points: rateLimitPoints }),
    ...(platform !== undefined && {
      platform_domain: platform?.domain ?? null,
      platform_token_sealed: platform?.tokenSealed ?? null,
    }),
  };
}
