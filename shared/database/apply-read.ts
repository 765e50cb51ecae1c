import type { QueryConfig } from 'pg';
import type { Idempotency, MaterialRef } from '../domain/operation.js';
import { transactionBounds } from './apply-bounds.js';
import { integers, refArrays, texts, uuids } from './array-literals.js';
import { materialFieldsQuery } from './material-rows.js';

// The first message of the apply step: bounds, the lock of the materials, then, in a later statement, all that the
// rules need. Later, because a statement sees only what was committed before it began, and so before it had its locks.

export interface ApplyQuestion {
  materials: MaterialRef[];
  /**
   * Levels that operations may book. `material` is an index into `materials`; `locationId` is null for the shop's
   * default location (contract §4).
   */
  levels: { material: number; locationId: string | null }[];
  /** Indices of the materials with a field update, whose fields are to be read. */
  updated: number[];
  operationIds: string[];
  /**
   * Each pair once, in hex. For each scope the newest execution that is not older than `keyAgeMsMax` is read, with its
   * result only where the hash is that of its request: a result may have a megabyte, and is of no use for another.
   */
  keys: Idempotency[];
  keyAgeMsMax: number;
}

/** Locks the rows of these materials in a table, in a fixed order, and skips those that another session holds. */
const lockRows = (table: 'stock' | 'materials', id: 'material_id' | 'id') => `
  SELECT wanted.ordinal
  FROM unnest($1::int[], $2::text[]) WITH ORDINALITY AS wanted (shop_id, ${id}, ordinal)
  JOIN ${table} USING (shop_id, ${id})
  ORDER BY ${table}.shop_id, ${table}.${id}
  FOR NO KEY UPDATE OF ${table} SKIP LOCKED`;

/** The row of `stock` is the lock of its material. */
const lockMaterials = lockRows('stock', 'material_id');

/**
 * Also locks the rows with the fields of the materials that are updated. Otherwise a session that holds only such a
 * row, like one that changes the material's bills, would make the whole transaction wait.
 */
const lockFields = lockRows('materials', 'id');

/**
 * One answer for everything; `kind` tells what the columns hold (see `StateRow`). Separate statements cost 0.1 ms each.
 * Every look-up by key is fenced by OFFSET 0: without it, a generic plan on tables without statistics looks a row up by
 * its shop alone and filters (a transaction of 16 materials took 18 ms, and one of 100 rows 34). An existing level is
 * at a location of the shop (a foreign key says so), so locations are looked up only for missing levels.
 *
 * The insert of a level locks its location, because of the foreign key. That lock is taken here already, and skipped if
 * it is not free. Otherwise a session that holds one location, like one that deletes it, would make whole transactions
 * of all shops take too long.
 */
const readState = `
  SELECT 'clock' AS kind, 0 AS number, (extract(epoch FROM statement_timestamp()) * 1000)::bigint::text AS a,
         NULL::text AS b, NULL::text AS c, NULL::text AS d
  UNION ALL
  SELECT 'material', wanted.ordinal::int, found.total_quantity::text, shops.allow_negative_inventory::text,
         shops.default_location_id, (extract(epoch FROM found.updated_at) * 1000)::bigint::text
  FROM unnest($1::int[], $2::text[]) WITH ORDINALITY AS wanted (shop_id, material_id, ordinal)
  CROSS JOIN LATERAL (
    SELECT total_quantity, updated_at FROM stock
    WHERE stock.shop_id = wanted.shop_id AND stock.material_id = wanted.material_id OFFSET 0
  ) AS found
  JOIN shops ON shops.id = wanted.shop_id
  UNION ALL
  SELECT 'level', place.material, place.location_id, coalesce(found.id, nextval('levels_id_seq'))::text,
         found.quantity::text, CASE WHEN found.id IS NOT NULL THEN found.sequence ELSE (
           SELECT 0 FROM locations WHERE locations.shop_id = place.shop_id AND locations.id = place.location_id
           FOR KEY SHARE SKIP LOCKED) END::text
  FROM (
    SELECT wanted.material, ($1::int[])[wanted.material] AS shop_id, ($2::text[])[wanted.material] AS material_id,
           coalesce(wanted.location_id, (
             SELECT default_location_id FROM shops WHERE shops.id = ($1::int[])[wanted.material])) AS location_id
    FROM (SELECT unnest($3::int[]) AS material, unnest($4::text[]) AS location_id) AS wanted OFFSET 0
  ) AS place
  LEFT JOIN LATERAL (
    SELECT id, quantity, sequence FROM levels
    WHERE levels.shop_id = place.shop_id AND levels.material_id = place.material_id
      AND levels.location_id = place.location_id OFFSET 0
  ) AS found ON true
  WHERE found.id IS NOT NULL
    OR (SELECT true FROM locations WHERE locations.shop_id = place.shop_id AND locations.id = place.location_id)
  UNION ALL
  SELECT 'operation', 0, operations.op_id::text, operations.status, operations.result::text, original.result::text
  FROM unnest($5::uuid[]) AS wanted (op_id)
  JOIN operations USING (op_id)
  LEFT JOIN operations AS original ON original.op_id = operations.replay_of
  UNION ALL
  SELECT 'scope', greatest(0, extract(epoch FROM statement_timestamp() - executed.recorded_at) * 1000)::int,
         wanted.scope, executed.op_id::text, encode(executed.request_hash, 'hex'),
         CASE WHEN executed.request_hash = decode(wanted.request_hash, 'hex') THEN executed.result::text END
  FROM (SELECT unnest($6::text[]) AS scope, unnest($7::text[]) AS request_hash) AS wanted
  CROSS JOIN LATERAL (
    SELECT op_id, request_hash, result, recorded_at FROM operations
    WHERE key_scope = decode(wanted.scope, 'hex') AND status = 'executed'
      AND recorded_at > statement_timestamp() - $8::bigint * interval '1 millisecond'
    ORDER BY recorded_at DESC LIMIT 1
  ) AS executed`;

/** The queries of the first message, in their order; `readSnapshot` understands their answers. */
export function openingQueries(question: ApplyQuestion): QueryConfig[] {
  const refs = refArrays(question.materials);
  const updated = question.updated.map((index) => materialAt(question, index));
  const queries: QueryConfig[] = [
    transactionBounds,
    { name: 'apply-lock', text: lockMaterials, values: refs },
    ...(updated.length > 0 ? [{ name: 'apply-lock-fields', text: lockFields, values: refArrays(updated) }] : []),
    {
      name: 'apply-read',
      text: readState,
      values: [
        ...refs,
        // Ordinals are 1-based, as SQL counts.
        integers(question.levels, ({ material }) => material + 1),
        texts(question.levels, ({ locationId }) => locationId),
        uuids(question.operationIds, (id) => id),
        texts(question.keys, ({ scope }) => scope),
        texts(question.keys, ({ requestHash }) => requestHash),
        question.keyAgeMsMax,
      ],
    },
  ];
  if (updated.length > 0) queries.push(materialFieldsQuery(updated));
  return queries;
}

export function materialAt({ materials }: ApplyQuestion, index: number): MaterialRef {
  const material = materials[index];
  if (material === undefined) throw new RangeError(`no material ${index} in the question`);
  return material;
}

/**
 * A row of `readState`. What its columns hold, by `kind`:
 *
 * | kind      | number            | a         | b                | c                | d                     |
 * | --------- | ----------------- | --------- | ---------------- | ---------------- | --------------------- |
 * | clock     | –                 | now in ms | –                | –                | –                     |
 * | material  | its place, from 1 | total     | negative allowed | default location | ms of its last change |
 * | level     | its material's    | location  | id               | quantity ¹       | sequence ¹            |
 * | operation | –                 | id        | status           | own result ²     | result it replays ²   |
 * | scope     | its age in ms ⁴   | scope     | operation id     | request hash     | result ³              |
 *
 * ¹ Where the level has no row yet, the quantity is null, and the sequence 0, or null if another session holds its
 * location. ² At most one of them is there. ³ Null if another hash was asked with; a scope comes once for each hash.
 * ⁴ 0 if it was executed while the clock was ahead: by weeks, it would not fit.
 */
export type StateRow = { number: number; a: string } & (
  | { kind: 'clock' }
  | { kind: 'material'; b: string; c: string | null; d: string }
  | ({ kind: 'level'; b: string } & ({ c: string; d: string } | { c: null; d: '0' | null }))
  | { kind: 'operation'; b: string; c: string | null; d: string | null }
  | { kind: 'scope'; b: string; c: string; d: string | null }
);
