import type { QueryConfig } from 'pg';
import type { VersionedMaterial } from '../domain/material.js';
import { integers, texts } from './array-literals.js';

/** A material whose fields changed, as it is now. */
export type WrittenMaterial = { shopId: number } & VersionedMaterial;

/**
 * Creates the facets (migration 0003) that `writeFields` moves materials to, in a fixed order. A transaction that
 * creates a facet waits for another one that is creating the same; if each went by the order of its materials, two
 * could deadlock. The rows of `materials` are locked, so their origin and use, which are bits of `facet_id`, are still
 * the same when the trigger reads them. The look-up is fenced as in `readState`.
 */
const makeFacets = `
  SELECT facet_of(wanted.shop_id, wanted.vendor, wanted.origin, wanted.is_used)
  FROM (
    SELECT DISTINCT changed.shop_id, changed.vendor, found.origin, found.is_used
    FROM unnest($1::int[], $2::text[], $3::text[]) AS changed (shop_id, id, vendor)
    CROSS JOIN LATERAL (
      SELECT origin, (facet_id & 1) = 1 AS is_used, vendor FROM materials
      WHERE materials.shop_id = changed.shop_id AND materials.id = changed.id OFFSET 0
    ) AS found
    WHERE found.vendor IS DISTINCT FROM changed.vendor
    ORDER BY changed.shop_id, changed.vendor, found.origin, found.is_used
  ) AS wanted`;

const writeFields = `
  UPDATE materials
  SET product_name = changed.product_name, variant_name = changed.variant_name, sku = changed.sku, unit = changed.unit,
      unit_cost = changed.unit_cost, unit_price = changed.unit_price, vendor = changed.vendor,
      specifications = changed.specifications, image_url = changed.image_url,
      is_non_essential = changed.is_non_essential, weight_value = changed.weight_value,
      weight_unit_id = changed.weight_unit_id, version = changed.version
  FROM json_to_recordset($1::json) AS changed (
    shop_id integer, id text, product_name text, variant_name text, sku text, unit text, unit_cost numeric,
    unit_price numeric, vendor text, specifications text, image_url text, is_non_essential boolean,
    weight_value numeric, weight_unit_id text, version integer)
  WHERE materials.shop_id = changed.shop_id AND materials.id = changed.id`;

/** Writes the fields of materials whose rows are locked. */
export function fieldQueries(materials: readonly WrittenMaterial[]): QueryConfig[] {
  if (materials.length === 0) return [];
  const rows = JSON.stringify(materials.map(toFieldsRow));
  const writing = { name: 'apply-fields', text: writeFields, values: [rows] };
  // One material has one facet, so there is no order that could differ.
  if (materials.length === 1) return [writing];
  return [{ name: 'apply-facets', text: makeFacets, values: facetArrays(materials) }, writing];
}

function facetArrays(materials: readonly WrittenMaterial[]): string[] {
  return [
    integers(materials, ({ shopId }) => shopId),
    texts(materials, ({ material }) => material.id),
    texts(materials, ({ material }) => material.vendor),
  ];
}

function toFieldsRow({ shopId, material, version }: WrittenMaterial): Record<string, unknown> {
  return {
    shop_id: shopId,
    id: material.id,
    product_name: material.productName,
    variant_name: material.variantName,
    sku: material.sku,
    unit: material.unit,
    unit_cost: material.unitCost,
    unit_price: material.unitPrice,
    vendor: material.vendor,
    specifications: material.specifications,
    image_url: material.imageUrl,
    is_non_essential: material.isNonEssentialMaterial,
    weight_value: material.weightValue,
    weight_unit_id: material.weightUnitId,
    version,
  };
}
