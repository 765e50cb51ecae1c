import type { NewMaterialFields, Origin } from '../domain/material.js';
import { toDecimal, toMicros } from '../domain/quantity.js';
import type { Micros } from '../domain/quantity.js';
import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';

/** A material to be added. */
export interface NewMaterial extends NewMaterialFields {
  id: string;
  origin: Origin;
  /**
   * The platform's own figure, for a platform material only; a virtual one begins at 0 and is stocked through the
   * ledger.
   */
  mirroredQuantity?: Micros;
}

/** Materials in a call, so that a statement has only a few megabytes. */
const newMaterialsMax = 1_000;

/**
 * Adds materials of a shop, each with its row of stock, in one statement; one whose id is taken is left as it is.
 * Fields must have passed the contract's rules; constraints enforce as much of them as SQL can express.
 *
 * @param materials at most `newMaterialsMax`, ids distinct
 * @returns the ids of those added
 */
export async function createMaterials(
  database: Database,
  shopId: number,
  materials: readonly NewMaterial[],
): Promise<string[]> {
  if (materials.length > newMaterialsMax) throw new RangeError(`more than ${newMaterialsMax} materials in a call`);
  const rows = await runReadCommitted<{ material_id: string }>(database, insertMaterials, {
    shopId,
    given: JSON.stringify(materials.map(toRecord)),
  });
  return rows.map(({ material_id }) => material_id);
}

/**
 * The facets (migration 0003) are made in a fixed order, as in the apply step, and all of them before the first
 * material is written. If the trigger made them, in the order of ids, two such statements could deadlock.
 */
const insertMaterials = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset(CAST(:given AS jsonb)) AS r (
      id text, origin text, product_name text, variant_name text, sku text, unit text, unit_cost numeric,
      unit_price numeric, vendor text, specifications text, image_url text, is_non_essential boolean,
      weight_value numeric, weight_unit_id text, total_quantity numeric)
  ), faceted AS MATERIALIZED (
    SELECT sorted.*, facet_of(:shopId, sorted.vendor, sorted.origin, false) AS facet_id
    FROM (SELECT * FROM given ORDER BY vendor, origin) AS sorted
  ), added AS (
    INSERT INTO materials (shop_id, id, origin, facet_id, product_name, variant_name, sku, unit, unit_cost, unit_price,
      vendor, specifications, image_url, is_non_essential, weight_value, weight_unit_id)
    SELECT :shopId, id, origin, facet_id, product_name, variant_name, sku, unit, unit_cost, unit_price,
      vendor, specifications, image_url, is_non_essential, weight_value, weight_unit_id
    FROM faceted ORDER BY id
    ON CONFLICT DO NOTHING
    RETURNING id
  )
  INSERT INTO stock (shop_id, material_id, total_quantity)
  SELECT :shopId, added.id, given.total_quantity FROM added JOIN given USING (id)
  RETURNING material_id`;

function toRecord(material: NewMaterial): Record<string, unknown> {
  if (material.origin === 'virtual' && (material.mirroredQuantity ?? 0) !== 0) {
    throw new Error(`the stock of ${material.id} is virtual: only the ledger's writer may set it`);
  }
  return {
    id: material.id,
    origin: material.origin,
    product_name: material.productName,
    variant_name: material.variantName ?? null,
    sku: material.sku ?? null,
    unit: material.unit ?? null,
    unit_cost: decimalOrNull(material.unitCost),
    unit_price: decimalOrNull(material.unitPrice),
    vendor: material.vendor ?? null,
    specifications: material.specifications ?? null,
    image_url: material.imageUrl ?? null,
    is_non_essential: material.isNonEssentialMaterial ?? false,
    weight_value: decimalOrNull(material.weightValue),
    weight_unit_id: material.weightUnitId ?? null,
    total_quantity: toDecimal(material.mirroredQuantity ?? 0),
  };
}

function decimalOrNull(units: number | null | undefined): string | null {
  return units === null || units === undefined ? null : toDecimal(toMicros(units));
}
