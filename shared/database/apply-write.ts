import type { QueryConfig, QueryResult } from 'pg';
import type { AdjustmentRow, RowApplied } from '../domain/adjustment.js';
import type { VersionedMaterial } from '../domain/material.js';
import type { MaterialRef, Operation, OperationOutcome } from '../domain/operation.js';
import { toDecimal } from '../domain/quantity.js';
import type { Micros } from '../domain/quantity.js';
import { toOutcome } from './apply-read.js';

/** The second message of the apply step: everything that a cycle changes, in as few statements as it takes. */

export interface LevelWrite extends MaterialRef {
  locationId: string;
  id: string;
  exists: boolean;
  quantity: Micros;
  sequence: number;
}

export interface LedgerEntry {
  shopId: number;
  levelId: string;
  sequence: number;
  operation: Operation;
  rowIndex: number;
  row: AdjustmentRow;
  applied: RowApplied;
}

export interface OperationRecord extends MaterialRef {
  operation: Operation;
  outcome: OperationOutcome;
  /** The executed operation whose result a replay answers. */
  replayOf: string | null;
}

export interface ApplyWrites {
  atMs: number;
  levels: LevelWrite[];
  totals: (MaterialRef & { total: Micros })[];
  entries: LedgerEntry[];
  /** Materials whose fields changed, as they are now. */
  materials: ({ shopId: number } & VersionedMaterial)[];
  /** Outcomes of operations on locked materials: a duplicate rolls the whole cycle back, and it runs again. */
  records: OperationRecord[];
  /** Outcomes of operations on materials that do not exist, and so could not be locked: the first writer wins. */
  unlockedRecords: OperationRecord[];
}

/**
 * One statement writes levels, totals, ledger and operations; as four they cost 0.1 ms each more. It reads nothing that
 * it has just waited for (pipeline §2.6): ids and sequences of levels were read, or drawn, under the lock.
 */
const writeState = `
  WITH moment AS (SELECT to_timestamp($1::bigint / 1000.0) AS at),
  updated AS (
    UPDATE levels SET quantity = changed.quantity, sequence = changed.sequence, updated_at = moment.at
    FROM unnest($2::int[], $3::bigint[], $4::numeric[], $5::bigint[]) AS changed (shop_id, id, quantity, sequence), moment
    WHERE levels.id = changed.id AND levels.shop_id = changed.shop_id
  ),
  inserted AS (
    INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
    SELECT fresh.*, moment.at
    FROM unnest($6::int[], $7::text[], $8::text[], $9::bigint[], $10::numeric[], $11::bigint[])
      AS fresh (shop_id, material_id, location_id, id, quantity, sequence), moment
  ),
  booked AS (
    UPDATE stock SET total_quantity = changed.total, updated_at = moment.at
    FROM unnest($12::int[], $13::text[], $14::numeric[]) AS changed (shop_id, material_id, total), moment
    WHERE stock.shop_id = changed.shop_id AND stock.material_id = changed.material_id
  ),
  entered AS (
    INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_delta, requested_absolute, previous,
                        applied, level_after, clamped, channel, key_id, request_id, reason, reference, at)
    SELECT entry.*, moment.at
    FROM unnest($15::int[], $16::bigint[], $17::bigint[], $18::uuid[], $19::int[], $20::numeric[], $21::numeric[],
                $22::numeric[], $23::numeric[], $24::numeric[], $25::boolean[], $26::text[], $27::text[], $28::uuid[],
                $29::text[], $30::text[])
      AS entry (shop_id, level_id, sequence, op_id, row_index, requested_delta, requested_absolute, previous,
                applied, level_after, clamped, channel, key_id, request_id, reason, reference), moment
  )
  INSERT INTO operations (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash, recorded_at)
  SELECT done.op_id, done.shop_id, done.material_id, done.status, done.result, done.replay_of,
         decode(done.key_scope, 'hex'), decode(done.request_hash, 'hex'), moment.at
  FROM unnest($31::uuid[], $32::int[], $33::text[], $34::text[], $35::json[], $36::uuid[], $37::text[], $38::text[])
    AS done (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash), moment`;

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

const recordUnlocked = `
  INSERT INTO operations (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash, recorded_at)
  SELECT done.op_id, done.shop_id, done.material_id, done.status, done.result, done.replay_of,
         decode(done.key_scope, 'hex'), decode(done.request_hash, 'hex'), to_timestamp($1::bigint / 1000.0)
  FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::json[], $7::uuid[], $8::text[], $9::text[])
    AS done (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash)
  ON CONFLICT (op_id) DO NOTHING`;

/** A later statement, since the one that lost does not see the winner's row. */
const rereadUnlocked = `
  SELECT op_id, status, result::text
  FROM unnest($1::uuid[]) AS wanted (op_id)
  JOIN operations USING (op_id)`;

export function writingQueries(writes: ApplyWrites): QueryConfig[] {
  const queries: QueryConfig[] = [];
  if (writes.records.length > 0) {
    queries.push({
      name: 'apply-write',
      text: writeState,
      values: [
        writes.atMs,
        ...levelArrays(writes.levels),
        ...totalArrays(writes.totals),
        ...entryArrays(writes.entries),
        ...recordArrays(writes.records),
      ],
    });
  }
  if (writes.materials.length > 0) {
    queries.push({
      name: 'apply-fields',
      text: writeFields,
      values: [JSON.stringify(writes.materials.map(toFieldsRow))],
    });
  }
  if (writes.unlockedRecords.length > 0) {
    const operationIds = writes.unlockedRecords.map(({ operation }) => operation.id);
    queries.push(
      { name: 'apply-unlocked', text: recordUnlocked, values: [writes.atMs, ...recordArrays(writes.unlockedRecords)] },
      { name: 'apply-reread', text: rereadUnlocked, values: [operationIds] },
    );
  }
  return queries;
}

/** What stands on record for the operations that could not be locked: theirs, or what came before them. */
export function readUnlockedOutcomes(writes: ApplyWrites, answers: QueryResult[]): Map<string, OperationOutcome> {
  if (writes.unlockedRecords.length === 0) return new Map();
  const rows = answers.at(-1)?.rows as { op_id: string; status: string; result: string | null }[];
  const own = new Map(writes.unlockedRecords.map(({ operation, outcome }) => [operation.id, outcome]));
  return new Map(
    rows.map(({ op_id: id, status, result }) => {
      const recorded = own.get(id);
      const isReplay = status === 'replayed' && recorded?.status === 'executed';
      return [id, isReplay ? recorded : toOutcome(status, result)];
    }),
  );
}

function levelArrays(levels: LevelWrite[]): unknown[][] {
  const [updated, inserted] = [levels.filter(({ exists }) => exists), levels.filter(({ exists }) => !exists)];
  return [
    updated.map(({ shopId }) => shopId),
    updated.map(({ id }) => id),
    updated.map(({ quantity }) => toDecimal(quantity)),
    updated.map(({ sequence }) => sequence),
    inserted.map(({ shopId }) => shopId),
    inserted.map(({ materialId }) => materialId),
    inserted.map(({ locationId }) => locationId),
    inserted.map(({ id }) => id),
    inserted.map(({ quantity }) => toDecimal(quantity)),
    inserted.map(({ sequence }) => sequence),
  ];
}

function totalArrays(totals: ApplyWrites['totals']): unknown[][] {
  return [
    totals.map(({ shopId }) => shopId),
    totals.map(({ materialId }) => materialId),
    totals.map(({ total }) => toDecimal(total)),
  ];
}

function entryArrays(entries: LedgerEntry[]): unknown[][] {
  return [
    entries.map(({ shopId }) => shopId),
    entries.map(({ levelId }) => levelId),
    entries.map(({ sequence }) => sequence),
    entries.map(({ operation }) => operation.id),
    entries.map(({ rowIndex }) => rowIndex),
    entries.map(({ row }) => (row.delta === undefined ? null : toDecimal(row.delta))),
    entries.map(({ row }) => (row.absolute === undefined ? null : toDecimal(row.absolute))),
    entries.map(({ applied }) => toDecimal(applied.previous)),
    entries.map(({ applied }) => toDecimal(applied.applied)),
    entries.map(({ applied }) => toDecimal(applied.level)),
    entries.map(({ applied }) => applied.clamped),
    entries.map(({ operation }) => operation.channel),
    entries.map(({ operation }) => operation.keyId),
    entries.map(({ operation }) => operation.requestId),
    entries.map(({ row }) => row.reason ?? null),
    entries.map(({ row }) => row.reference ?? null),
  ];
}

function recordArrays(records: OperationRecord[]): unknown[][] {
  // Sorted, so that two transactions that record the same operations wait for each other in one order.
  const sorted = records.toSorted((one, other) => (one.operation.id < other.operation.id ? -1 : 1));
  // Only an execution carries the key: a cancelled, failed or replayed attempt must not answer for it (contract §7).
  const keyOf = ({ outcome, replayOf, operation }: OperationRecord) =>
    outcome.status === 'executed' && replayOf === null ? operation.idempotency : undefined;
  return [
    sorted.map(({ operation }) => operation.id),
    sorted.map(({ shopId }) => shopId),
    sorted.map(({ materialId }) => materialId),
    sorted.map(({ outcome, replayOf }) => (replayOf === null ? outcome.status : 'replayed')),
    sorted.map(({ outcome, replayOf }) =>
      outcome.status === 'executed' && replayOf === null ? JSON.stringify(outcome.result) : null,
    ),
    sorted.map(({ replayOf }) => replayOf),
    sorted.map((record) => keyOf(record)?.scope ?? null),
    sorted.map((record) => keyOf(record)?.requestHash ?? null),
  ];
}

function toFieldsRow({ shopId, material, version }: ApplyWrites['materials'][number]): Record<string, unknown> {
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
