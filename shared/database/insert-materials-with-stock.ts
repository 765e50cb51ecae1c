import { v7 as uuidv7 } from 'uuid';
import type { NewMaterialFields } from '../domain/material.js';
import type { Micros } from '../domain/quantity.js';
import { columnsWithin, namedArraysOf, namesOf, unnestNamed } from './array-columns.js';
import type { ArrayColumn } from './array-columns.js';
import { decimals, integers, texts, uuids } from './array-literals.js';
import type { Database } from './connect.js';
import { fieldColumns } from './field-columns.js';
import { liftTimeouts } from './lift-timeouts.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { runReadCommitted } from './read-committed.js';

/** A virtual material with the stock it begins with, as the rules have decided it (`openStock`). */
export interface StockedMaterial {
  id: string;
  fields: NewMaterialFields;
  total: Micros;
  levels: readonly { locationId: string; quantity: Micros }[];
}

/** A material with the facet (migration 0003) that it belongs to. */
export interface FacetedMaterial {
  material: StockedMaterial;
  facetId: number;
}

/** As in a request: the ledger numbers the rows of an operation from 0 to 999. */
const rowsPerOperation = 1_000;

/** Materials a statement: 5,000 and 10,000 are equally fast, and below 1,000 the round trips show. */
export const importBatchSize = 5_000;

/** A statement with so many levels takes no more materials: with a million (5,000 × 200) the process had 1.1 GiB. */
export const importLevelsMax = 20_000;

/** Likewise with so many characters: with 5,000 × 10,000 of three bytes each it had 1 GiB. */
export const importTextMax = 4_000_000;

/**
 * The search index (GIN) collects new entries in a list and sorts them in when the list is full. A larger list makes an
 * import cheaper, but every search meanwhile reads the list from end to end. At 4 MB (the default) an import is a fifth
 * slower, and at 64 MB hardly faster.
 */
const pendingListKb = 16_384;

/** Settings for the transaction of an import; they end with it, because of PgBouncer (pipeline §4). */
export async function beginImport(transaction: Database): Promise<void> {
  // Behind the first bad line of a file its rest is only checked.
  await liftTimeouts(transaction);
  await transaction.raw(
    `SELECT set_config('gin_pending_list_limit', '${pendingListKb}', true), set_config('work_mem', '65536', true)`,
  );
}

/**
 * The ids among these that materials of the shop already have, or stock whose material is gone: nothing of ours leaves
 * such, but it would keep the id from being imported. Each is looked up by its key: in a join, Postgres passes over all
 * that the running import has written, for each batch of it.
 */
export async function takenIds(database: Database, shopId: number, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await database.raw<{ rows: { id: string }[] }>(
    `SELECT given.id FROM unnest(CAST(:ids AS text[])) AS given (id)
     WHERE EXISTS (SELECT 1 FROM materials m WHERE m.shop_id = ${opaqueShopId} AND m.id = given.id OFFSET 0)
       OR EXISTS (SELECT 1 FROM stock s WHERE s.shop_id = ${opaqueShopId} AND s.material_id = given.id OFFSET 0)`,
    { shopId, ids: [...ids] },
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * The facets (migration 0003) of virtual materials of these vendors that no bill uses, in the order given; new ones are
 * created. Not to be called in the import's transaction: nobody else could add a material of the same new vendor until
 * that ends. They are created in the order of vendors, as everywhere, so that no two transactions deadlock.
 */
export async function facetsOfVendors(
  database: Database,
  shopId: number,
  vendors: readonly (string | null)[],
): Promise<number[]> {
  const rows = await runReadCommitted<{ facet_id: number }>(
    database,
    `SELECT made.facet_id
     FROM (SELECT facet_of(:shopId, sorted.vendor, 'virtual', false) AS facet_id, sorted.place
           FROM (SELECT * FROM unnest(CAST(:vendors AS text[])) WITH ORDINALITY AS given (vendor, place)
                 ORDER BY vendor) AS sorted) AS made
     ORDER BY made.place`,
    { shopId, vendors: [...vendors] },
  );
  return rows.map(({ facet_id }) => facet_id);
}

/** Parameters of the statement that writes materials: each column as the text of an array. */
export type InsertParameters = Readonly<Record<string, string | number>>;

/**
 * The parameters of `insertMaterialsWithStock`. A function of its own, so that they can be made while Postgres writes
 * the previous batch: made between two batches, they took a tenth of an import.
 *
 * @param channel as the ledger names it: `import`, or `cli` for an operator's single material and for the demo's
 * @param materials at most `importBatchSize`
 */
export function insertParameters(
  shopId: number,
  channel: 'cli' | 'import',
  materials: readonly FacetedMaterial[],
): InsertParameters {
  const levels = materials.flatMap(({ material }) => levelRows(material));
  return { shopId, channel, ...namedArraysOf(insertedColumns, materials), ...namedArraysOf(levelColumns, levels) };
}

/** Each level with the operation that its ledger entry names: a new one for every `rowsPerOperation` of a material. */
function levelRows({ id, levels }: StockedMaterial): LevelRow[] {
  let operationId = '';
  return levels.map((level, place) => {
    const index = place % rowsPerOperation;
    // UUIDv7 ascend. With random ids, a million rows would make Postgres read and write the whole index.
    if (index === 0) operationId = uuidv7();
    return { ...level, id, index, operationId };
  });
}

type LevelRow = StockedMaterial['levels'][number] & { id: string; index: number; operationId: string };

/**
 * Writes materials with their stock, their levels and the ledger entries of these, in one statement, as the apply step
 * does (pipeline §2.6).
 *
 * @throws 23505 on `materials_pkey`, `stock_pkey` or `levels_pkey` if an id is taken
 */
export async function insertMaterialsWithStock(transaction: Database, parameters: InsertParameters): Promise<void> {
  await transaction.raw(insertBatch, parameters);
}

const insertedColumns: ArrayColumn<FacetedMaterial>[] = [
  { name: 'id', type: 'text', toArray: (rows) => texts(rows, ({ material }) => material.id) },
  { name: 'facet_id', type: 'integer', toArray: (rows) => integers(rows, ({ facetId }) => facetId) },
  { name: 'total_quantity', type: 'numeric', toArray: (rows) => decimals(rows, ({ material }) => material.total) },
  ...columnsWithin(fieldColumns, ({ material }: FacetedMaterial) => material.fields),
];

const levelColumns: ArrayColumn<LevelRow>[] = [
  { name: 'material_id', type: 'text', toArray: (rows) => texts(rows, ({ id }) => id) },
  { name: 'location_id', type: 'text', toArray: (rows) => texts(rows, ({ locationId }) => locationId) },
  { name: 'row_index', type: 'integer', toArray: (rows) => integers(rows, ({ index }) => index) },
  { name: 'quantity', type: 'numeric', toArray: (rows) => decimals(rows, ({ quantity }) => quantity) },
  { name: 'op_id', type: 'uuid', toArray: (rows) => uuids(rows, ({ operationId }) => operationId) },
];

const insertBatch = `
  WITH given AS MATERIALIZED (${unnestNamed(insertedColumns)}),
  added AS (
    INSERT INTO materials (shop_id, origin, id, facet_id, ${namesOf(fieldColumns)})
    SELECT :shopId, 'virtual', id, facet_id, ${namesOf(fieldColumns)} FROM given
  ), stocked AS (
    INSERT INTO stock (shop_id, material_id, facet_id, total_quantity)
    SELECT :shopId, id, facet_id, total_quantity FROM given
  ), opened AS MATERIALIZED (
    SELECT nextval('levels_id_seq') AS id, level.* FROM (${unnestNamed(levelColumns)}) AS level
  ), levelled AS (
    INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
    SELECT :shopId, material_id, location_id, id, quantity, 1, now() FROM opened
  )
  INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_absolute, previous, applied, level_after,
    clamped, at, channel, reason)
  SELECT :shopId, id, 1, op_id, row_index, quantity, 0, quantity, quantity, false, now(), :channel, 'Opening stock'
  FROM opened`;
