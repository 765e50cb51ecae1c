import type { Material, VersionedMaterial } from '../domain/material.js';
import { fromDecimal, toUnits } from '../domain/quantity.js';
import type { BillKind } from './bills.js';
import type { Database } from './connect.js';
import { materialColumns, toVersionedMaterial } from './material-rows.js';
import type { VersionedMaterialRow } from './material-rows.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { readRows } from './read-rows.js';

export interface Connection {
  id: string;
  name: string;
  /** How much of the material goes into one of it, in units. */
  quantity: number;
}

export interface MaterialConnections {
  billOfMaterials: Connection[];
  subAssemblies: Connection[];
}

/** The material, as every response shows it; undefined where the shop has none of this id. */
export async function findMaterial(
  database: Database,
  shopId: number,
  materialId: string,
): Promise<Material | undefined> {
  const found = await findVersionedMaterial(database, shopId, materialId);
  return found?.material;
}

/** As `findMaterial`, with the version of its fields as of the same moment. */
export async function findVersionedMaterial(
  database: Database,
  shopId: number,
  materialId: string,
): Promise<VersionedMaterial | undefined> {
  const [row] = await readRows<VersionedMaterialRow>(
    database,
    `SELECT m.version, ${materialColumns}
     FROM materials m JOIN stock s ON s.shop_id = m.shop_id AND s.material_id = m.id
     WHERE m.shop_id = ${opaqueShopId} AND m.id = :materialId`,
    { shopId, materialId },
  );
  return row && toVersionedMaterial(row);
}

/** The shops that have a material of this id and all of these locations, oldest first: the demo's are found so. */
export async function findShopsWith(
  database: Database,
  { materialId, locationIds }: { materialId: string; locationIds: readonly string[] },
): Promise<number[]> {
  const rows = await readRows<{ id: number }>(
    database,
    `SELECT s.id FROM shops s
     WHERE EXISTS (SELECT FROM materials m WHERE m.shop_id = s.id AND m.id = :materialId)
       AND CAST(:locationIds AS text[]) <@ ARRAY (SELECT l.id FROM locations l WHERE l.shop_id = s.id)
     ORDER BY s.id`,
    { materialId, locationIds },
  );
  return rows.map(({ id }) => id);
}

/**
 * What uses a material (contract §1 `includeConnections`), sorted by name, then id; also empty if there is no such one.
 */
export async function findConnections(
  database: Database,
  shopId: number,
  materialId: string,
): Promise<MaterialConnections> {
  const rows = await readRows<{ id: string; kind: BillKind; name: string; quantity: string }>(
    database,
    `SELECT b.id, b.kind, b.name, c.quantity
     FROM bill_components c JOIN bills b ON b.shop_id = c.shop_id AND b.id = c.bill_id
     WHERE c.shop_id = :shopId AND c.material_id = :materialId
     ORDER BY lower(b.name), b.id`,
    { shopId, materialId },
  );
  const ofKind = (wanted: BillKind) =>
    rows
      .filter(({ kind }) => kind === wanted)
      .map(({ id, name, quantity }) => ({ id, name, quantity: toUnits(fromDecimal(quantity)) }));
  return { billOfMaterials: ofKind('bill_of_materials'), subAssemblies: ofKind('sub_assembly') };
}
