import type { Database } from '../database/connect.js';
import { findShop } from '../database/shops.js';
import type { Shop } from '../database/shops.js';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';

/** The shop that a command is about, or the sentence for an operator that there is none. */
export async function requireShop(database: Database, id: number): Promise<Outcome<Shop>> {
  const shop = await findShop(database, id);
  return shop === undefined ? noShop(id) : { ok: true, value: shop };
}

export function noShop(id: number): Failed {
  return failed(`There is no shop ${id}.`);
}
