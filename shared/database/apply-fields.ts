import type { QueryConfig } from 'pg';
import type { VersionedMaterial } from '../domain/material.js';
import { arraysOf, columnsWithin, unnestFrom } from './array-columns.js';
import type { ArrayColumn } from './array-columns.js';
import { integers, texts } from './array-literals.js';
import { fieldColumns } from './field-columns.js';

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

const changedColumns: ArrayColumn<WrittenMaterial>[] = [
  { name: 'shop_id', type: 'int', toArray: (rows) => integers(rows, ({ shopId }) => shopId) },
  { name: 'id', type: 'text', toArray: (rows) => texts(rows, ({ material }) => material.id) },
  { name: 'version', type: 'int', toArray: (rows) => integers(rows, ({ version }) => version) },
  ...columnsWithin(fieldColumns, ({ material }: WrittenMaterial) => material),
];

const writeFields = `
  UPDATE materials
  SET ${fieldColumns.map(({ name }) => `${name} = changed.${name}`).join(', ')}, version = changed.version
  FROM (${unnestFrom(1)(changedColumns)}) AS changed
  WHERE materials.shop_id = changed.shop_id AND materials.id = changed.id`;

/** Writes the fields of materials whose rows are locked. */
export function fieldQueries(materials: readonly WrittenMaterial[]): QueryConfig[] {
  if (materials.length === 0) return [];
  const writing = { name: 'apply-fields', text: writeFields, values: arraysOf(changedColumns, materials) };
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
