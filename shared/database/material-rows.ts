import type { QueryConfig } from 'pg';
import type { Material, Origin, VersionedMaterial } from '../domain/material.js';
import type { MaterialRef } from '../domain/operation.js';
import { fromDecimal, toUnits } from '../domain/quantity.js';
import { refArrays } from './array-literals.js';

/**
 * The columns of a material, to be selected `FROM materials m JOIN stock s` of the same shop and id, and read by
 * `toMaterial`. All readers use these, so the list, the single read and the answer to a field update agree.
 */
export const materialColumns = `m.id, m.origin, m.product_name, m.variant_name, m.sku, m.unit, m.unit_cost, m.unit_price,
  s.total_quantity, m.vendor, m.specifications, m.image_url, m.is_non_essential, m.weight_value, m.weight_unit_id,
  (SELECT ARRAY[count(*) FILTER (WHERE b.kind = 'bill_of_materials'), count(*) FILTER (WHERE b.kind = 'sub_assembly')]::integer[]
   FROM bill_components c JOIN bills b ON b.shop_id = c.shop_id AND b.id = c.bill_id
   WHERE c.shop_id = m.shop_id AND c.material_id = m.id) AS usage_counts,
  m.created_at, s.updated_at`;

export interface MaterialRow {
  id: string;
  origin: Origin;
  product_name: string;
  variant_name: string | null;
  sku: string | null;
  unit: string | null;
  unit_cost: string | null;
  unit_price: string | null;
  total_quantity: string;
  vendor: string | null;
  specifications: string | null;
  image_url: string | null;
  is_non_essential: boolean;
  weight_value: string | null;
  weight_unit_id: string | null;
  /** Bills of materials, sub-assemblies. */
  usage_counts: [number, number];
  created_at: Date;
  updated_at: Date;
}

/** With `m.version` beside the columns. */
export interface VersionedMaterialRow extends MaterialRow {
  version: number;
}

/** For the apply step: the materials to be updated, with `shop_id` beside the columns of `VersionedMaterialRow`. */
export function materialFieldsQuery(materials: readonly MaterialRef[]): QueryConfig {
  return {
    name: 'apply-read-fields',
    text: `
      SELECT m.shop_id, m.version, ${materialColumns}
      FROM unnest($1::int[], $2::text[]) AS wanted (shop_id, material_id)
      JOIN materials m ON m.shop_id = wanted.shop_id AND m.id = wanted.material_id
      JOIN stock s ON s.shop_id = m.shop_id AND s.material_id = m.id`,
    values: refArrays(materials),
  };
}

/** The material as a client sees it (contract §2 "Material"): numbers in units, times in ISO 8601 with milliseconds. */
export function toMaterial(row: MaterialRow): Material {
  const [billOfMaterials, subAssemblies] = row.usage_counts;
  return {
    id: row.id,
    variantId: row.id,
    origin: row.origin,
    productName: row.product_name,
    variantName: row.variant_name,
    sku: row.sku,
    unit: row.unit,
    unitCost: toNumber(row.unit_cost),
    unitPrice: toNumber(row.unit_price),
    inventoryQuantity: toUnits(fromDecimal(row.total_quantity)),
    vendor: row.vendor,
    specifications: row.specifications,
    imageUrl: row.image_url,
    isNonEssentialMaterial: row.is_non_essential,
    weightValue: toNumber(row.weight_value),
    weightUnitId: row.weight_unit_id,
    usage: { billOfMaterials, subAssemblies },
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

export function toVersionedMaterial(row: VersionedMaterialRow): VersionedMaterial {
  return { material: toMaterial(row), version: row.version };
}

function toNumber(decimal: string | null): number | null {
  return decimal === null ? null : toUnits(fromDecimal(decimal));
}
