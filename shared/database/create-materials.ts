import type { NewMaterialFields, Origin } from '../domain/material.js';
import type { Micros } from '../domain/quantity.js';
import { namedArraysOf, namesOf, unnestNamed } from './array-columns.js';
import type { ArrayColumn } from './array-columns.js';
import { decimals, texts } from './array-literals.js';
import type { Database } from './connect.js';
import { fieldColumns } from './field-columns.js';
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
  for (const material of materials) assertNotStocked(material);
  const bindings = { shopId, ...namedArraysOf(columns, materials) };
  const rows = await runReadCommitted<{ material_id: string }>(database, insertMaterials, bindings);
  return rows.map(({ material_id }) => material_id);
}

const columns: ArrayColumn<NewMaterial>[] = [
  { name: 'id', type: 'text', toArray: (rows) => texts(rows, ({ id }) => id) },
  { name: 'origin', type: 'text', toArray: (rows) => texts(rows, ({ origin }) => origin) },
  ...fieldColumns,
  {
    name: 'total_quantity',
    type: 'numeric',
    toArray: (rows) => decimals(rows, ({ mirroredQuantity = 0 }) => mirroredQuantity),
  },
];

/**
 * The facets (migration 0003) are made in a fixed order, as in the apply step, and all of them before the first
 * material is written. If the trigger made them, in the order of ids, two such statements could deadlock.
 */
const insertMaterials = `
  WITH given AS (${unnestNamed(columns)}),
  faceted AS MATERIALIZED (
    SELECT sorted.*, facet_of(:shopId, sorted.vendor, sorted.origin, false) AS facet_id
    FROM (SELECT * FROM given ORDER BY vendor, origin) AS sorted
  ), added AS (
    INSERT INTO materials (shop_id, id, origin, facet_id, ${namesOf(fieldColumns)})
    SELECT :shopId, id, origin, facet_id, ${namesOf(fieldColumns)}
    FROM faceted ORDER BY id
    ON CONFLICT DO NOTHING
    RETURNING id
  )
  INSERT INTO stock (shop_id, material_id, total_quantity)
  SELECT :shopId, added.id, given.total_quantity FROM added JOIN given USING (id)
  RETURNING material_id`;

function assertNotStocked({ id, origin, mirroredQuantity = 0 }: NewMaterial): void {
  if (origin === 'virtual' && mirroredQuantity !== 0) {
    throw new Error(`the stock of ${id} is virtual: only the ledger's writer may set it`);
  }
}
