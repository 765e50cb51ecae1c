import type { Database } from './connect.js';

export interface NewLocation {
  /** Up to 255 characters; the platform's are plain digits. */
  id: string;
  name: string;
}

export interface Location extends NewLocation {
  /** ISO 8601 in UTC. */
  createdAt: string;
}

/** @returns false if the shop has a location of this id already, which is left as it is. The shop must exist. */
export async function addLocation(database: Database, shopId: number, location: NewLocation): Promise<boolean> {
  return (await addLocations(database, shopId, [location])) === 1;
}

/** Adds those that the shop does not have yet. @returns how many */
export async function addLocations(
  database: Database,
  shopId: number,
  locations: readonly NewLocation[],
): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    `INSERT INTO locations (shop_id, id, name)
     SELECT ?, given.id, given.name FROM unnest(?::text[], ?::text[]) AS given (id, name)
     ON CONFLICT DO NOTHING`,
    [shopId, locations.map(({ id }) => id), locations.map(({ name }) => name)],
  );
  return rowCount;
}

/** All locations of the shop, sorted by id, bytewise. */
export async function listLocations(database: Database, shopId: number): Promise<Location[]> {
  const { rows } = await database.raw<{ rows: { id: string; name: string; created_at: Date }[] }>(
    `SELECT id, name, created_at FROM locations WHERE shop_id = ? ORDER BY id COLLATE "C"`,
    [shopId],
  );
  return rows.map(({ id, name, created_at }) => ({ id, name, createdAt: created_at.toISOString() }));
}
