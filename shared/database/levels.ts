import { fromDecimal, toUnits } from '../domain/quantity.js';
import type { Database } from './connect.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { readRows } from './read-rows.js';

/** Quantities in units; `updatedAt` is null where nothing was ever booked (contract §2 "Inventory read"). */
export interface MaterialLevels {
  totalQuantity: number;
  levels: { locationId: string; quantity: number; updatedAt: string | null }[];
}

/**
 * The levels of a material and their sum. Both are of one moment, because one statement is one snapshot: a batch that
 * commits meanwhile is in all of it, or not at all. Sorted by location, bytewise. Without a filter: the locations that
 * have a level; with one: those asked for that the shop has (contract §2). A platform material has no levels of its own
 * (they are read from the platform): without a filter none are returned, with one each wanted location of the shop, at
 * 0. Its total is the mirrored figure.
 *
 * @returns undefined if the shop has no such material
 */
export async function findLevels(
  database: Database,
  shopId: number,
  materialId: string,
  locationIds?: readonly string[],
): Promise<MaterialLevels | undefined> {
  const rows = await (locationIds === undefined
    ? readRows<LevelRow>(database, allLevels, { shopId, materialId })
    : readRows<LevelRow>(database, levelsAt, { shopId, materialId, locationIds }));
  const [first] = rows;
  if (first === undefined) return undefined;
  return { totalQuantity: toUnits(fromDecimal(first.total_quantity)), levels: rows.flatMap(toLevel) };
}

/** The left join gives one row for a material without levels, and none for one that does not exist. */
const allLevels = `
  SELECT s.total_quantity, l.location_id, l.quantity, l.updated_at
  FROM stock s
  LEFT JOIN levels l ON l.shop_id = s.shop_id AND l.material_id = s.material_id
  WHERE s.shop_id = ${opaqueShopId} AND s.material_id = :materialId
  ORDER BY l.location_id COLLATE "C"`;

const levelsAt = `
  SELECT s.total_quantity, p.id AS location_id, l.quantity, l.updated_at
  FROM stock s
  LEFT JOIN locations p ON p.shop_id = s.shop_id AND p.id = ANY(CAST(:locationIds AS text[]))
  LEFT JOIN levels l ON l.shop_id = s.shop_id AND l.material_id = s.material_id AND l.location_id = p.id
  WHERE s.shop_id = ${opaqueShopId} AND s.material_id = :materialId
  ORDER BY p.id COLLATE "C"`;

interface LevelRow {
  total_quantity: string;
  location_id: string | null;
  quantity: string | null;
  updated_at: Date | null;
}

function toLevel({ location_id, quantity, updated_at }: LevelRow): MaterialLevels['levels'] {
  if (location_id === null) return [];
  return [
    {
      locationId: location_id,
      quantity: quantity === null ? 0 : toUnits(fromDecimal(quantity)),
      updatedAt: updated_at?.toISOString() ?? null,
    },
  ];
}
