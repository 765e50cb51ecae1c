import type { QueryConfig, QueryResult } from 'pg';
import type { AdjustmentRow, RowApplied } from '../domain/adjustment.js';
import type { MaterialRef, Operation, OperationOutcome } from '../domain/operation.js';
import type { Micros } from '../domain/quantity.js';
import { fieldQueries } from './apply-fields.js';
import type { WrittenMaterial } from './apply-fields.js';
import { toOutcome } from './outcome-rows.js';
import { booleans, decimals, integers, moments, texts, uuids } from './array-literals.js';

// The second message of the apply step: everything that it changes, in as few statements as it takes.

export interface LevelWrite extends MaterialRef {
  locationId: string;
  id: string;
  exists: boolean;
  quantity: Micros;
  sequence: number;
  atMs: number;
}

export interface LedgerEntry {
  shopId: number;
  levelId: string;
  sequence: number;
  atMs: number;
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
  /** When outcomes are recorded. Bookings have the time of their material, which may be later. */
  atMs: number;
  levels: LevelWrite[];
  totals: (MaterialRef & { total: Micros; atMs: number })[];
  entries: LedgerEntry[];
  /** Materials whose fields changed, as they are now. */
  materials: WrittenMaterial[];
  /**
   * Outcomes of operations on locked materials, and outcomes that follow from another operation's. If one of these
   * operations is already on record, the whole transaction fails, and is run again.
   */
  records: OperationRecord[];
  /** Outcomes of operations on materials that do not exist and so could not be locked. The first writer wins. */
  recordsWithoutMaterial: OperationRecord[];
}

/**
 * One statement writes levels, totals, ledger and operations; four statements would each cost 0.1 ms more. It reads
 * nothing that it may have waited for (pipeline §2.6): ids and sequences of levels were read, or drawn, under the lock.
 *
 * Arrays are unnested in a select list and not in FROM, where Postgres would first copy each of them whole.
 */
const writeState = `
  WITH updated AS (
    UPDATE levels SET quantity = changed.quantity, sequence = changed.sequence,
      updated_at = coalesce(changed.at, $1::timestamptz)
    FROM (SELECT unnest($2::int[]) AS shop_id, unnest($3::bigint[]) AS id, unnest($4::numeric[]) AS quantity,
                 unnest($5::bigint[]) AS sequence, unnest($6::timestamptz[]) AS at) AS changed
    WHERE levels.id = changed.id AND levels.shop_id = changed.shop_id
  ),
  inserted AS (
    INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
    SELECT shop_id, material_id, location_id, id, quantity, sequence, coalesce(at, $1::timestamptz)
    FROM (SELECT unnest($7::int[]) AS shop_id, unnest($8::text[]) AS material_id, unnest($9::text[]) AS location_id,
                 unnest($10::bigint[]) AS id, unnest($11::numeric[]) AS quantity, unnest($12::bigint[]) AS sequence,
                 unnest($13::timestamptz[]) AS at) AS first
  ),
  booked AS (
    UPDATE stock SET total_quantity = changed.total, updated_at = coalesce(changed.at, $1::timestamptz)
    FROM (SELECT unnest($14::int[]) AS shop_id, unnest($15::text[]) AS material_id, unnest($16::numeric[]) AS total,
                 unnest($17::timestamptz[]) AS at) AS changed
    WHERE stock.shop_id = changed.shop_id AND stock.material_id = changed.material_id
  ),
  entered AS (
    INSERT INTO ledger (shop_id, level_id, sequence, at, op_id, row_index, requested_delta, requested_absolute, previous,
                        applied, level_after, clamped, channel, key_id, request_id, reason, reference)
    SELECT shop_id, level_id, sequence, coalesce(at, $1::timestamptz), op_id, row_index, delta, absolute, previous, applied,
           level_after, clamped, channel, key_id, request_id, reason, reference
    FROM (SELECT unnest($18::int[]) AS shop_id, unnest($19::bigint[]) AS level_id, unnest($20::bigint[]) AS sequence,
                 unnest($21::timestamptz[]) AS at, unnest($22::uuid[]) AS op_id, unnest($23::int[]) AS row_index,
                 unnest($24::numeric[]) AS delta, unnest($25::numeric[]) AS absolute, unnest($26::numeric[]) AS previous,
                 unnest($27::numeric[]) AS applied, unnest($28::numeric[]) AS level_after,
                 unnest($29::boolean[]) AS clamped, unnest($30::text[]) AS channel, unnest($31::text[]) AS key_id,
                 unnest($32::uuid[]) AS request_id, unnest($33::text[]) AS reason, unnest($34::text[]) AS reference)
      AS entry
  )
  INSERT INTO operations (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash, recorded_at)
  SELECT done.op_id, done.shop_id, done.material_id, done.status, done.result, done.replay_of,
         decode(done.key_scope, 'hex'), decode(done.request_hash, 'hex'), $1::timestamptz
  FROM (SELECT unnest($35::uuid[]) AS op_id, unnest($36::int[]) AS shop_id, unnest($37::text[]) AS material_id,
               unnest($38::text[]) AS status, unnest($39::json[]) AS result, unnest($40::uuid[]) AS replay_of,
               unnest($41::text[]) AS key_scope, unnest($42::text[]) AS request_hash) AS done`;

const recordWithoutMaterial = `
  INSERT INTO operations (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash, recorded_at)
  SELECT done.op_id, done.shop_id, done.material_id, done.status, done.result, done.replay_of,
         decode(done.key_scope, 'hex'), decode(done.request_hash, 'hex'), $1::timestamptz
  FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::json[], $7::uuid[], $8::text[], $9::text[])
    AS done (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash)
  ON CONFLICT (op_id) DO NOTHING`;

/** A separate statement, because an insert that does nothing on a conflict does not see the other's row. */
const rereadWithoutMaterial = `
  SELECT op_id, status, result::text
  FROM unnest($1::uuid[]) AS wanted (op_id)
  JOIN operations USING (op_id)`;

export function writingQueries(writes: ApplyWrites): QueryConfig[] {
  const queries: QueryConfig[] = [];
  const moment = new Date(writes.atMs).toISOString();
  if (writes.records.length > 0) {
    queries.push({
      name: 'apply-write',
      text: writeState,
      values: [
        moment,
        ...levelArrays(writes),
        ...totalArrays(writes),
        ...entryArrays(writes),
        ...recordArrays(writes.records),
      ],
    });
  }
  queries.push(...fieldQueries(writes.materials));
  if (writes.recordsWithoutMaterial.length > 0) {
    const operationIds = uuids(writes.recordsWithoutMaterial, ({ operation }) => operation.id);
    queries.push(
      {
        name: 'apply-without-material',
        text: recordWithoutMaterial,
        values: [moment, ...recordArrays(writes.recordsWithoutMaterial)],
      },
      { name: 'apply-reread', text: rereadWithoutMaterial, values: [operationIds] },
    );
  }
  return queries;
}

/** What is on record for the operations whose material does not exist: their own outcome, or an earlier one. */
export function readOutcomesWithoutMaterial(
  writes: ApplyWrites,
  answers: QueryResult[],
): Map<string, OperationOutcome> {
  if (writes.recordsWithoutMaterial.length === 0) return new Map();
  const rows = answers.at(-1)?.rows as { op_id: string; status: string; result: string | null }[];
  const own = new Map(writes.recordsWithoutMaterial.map(({ operation, outcome }) => [operation.id, outcome]));
  return new Map(
    rows.map(({ op_id: id, status, result }) => {
      const recorded = own.get(id);
      const isReplay = status === 'replayed' && recorded?.status === 'executed';
      return [id, isReplay ? recorded : toOutcome(status, result)];
    }),
  );
}

/**
 * An empty array if all rows have the usual time, as they nearly always do. Unnested beside longer arrays it gives
 * nulls, and the statement takes the usual time for these. A time for each row cost the worker 3 to 21 % of a batch of
 * 100 rows.
 */
function unusualMoments(rows: readonly { atMs: number }[], usualMs: number): string {
  return rows.every(({ atMs }) => atMs === usualMs) ? '{}' : moments(rows, ({ atMs }) => atMs);
}

function levelArrays({ levels, atMs: usualMs }: ApplyWrites): string[] {
  const [updated, inserted] = [levels.filter(({ exists }) => exists), levels.filter(({ exists }) => !exists)];
  return [
    integers(updated, ({ shopId }) => shopId),
    integers(updated, ({ id }) => id),
    decimals(updated, ({ quantity }) => quantity),
    integers(updated, ({ sequence }) => sequence),
    unusualMoments(updated, usualMs),
    integers(inserted, ({ shopId }) => shopId),
    texts(inserted, ({ materialId }) => materialId),
    texts(inserted, ({ locationId }) => locationId),
    integers(inserted, ({ id }) => id),
    decimals(inserted, ({ quantity }) => quantity),
    integers(inserted, ({ sequence }) => sequence),
    unusualMoments(inserted, usualMs),
  ];
}

function totalArrays({ totals, atMs: usualMs }: ApplyWrites): string[] {
  return [
    integers(totals, ({ shopId }) => shopId),
    texts(totals, ({ materialId }) => materialId),
    decimals(totals, ({ total }) => total),
    unusualMoments(totals, usualMs),
  ];
}

function entryArrays({ entries, atMs: usualMs }: ApplyWrites): string[] {
  return [
    integers(entries, ({ shopId }) => shopId),
    integers(entries, ({ levelId }) => levelId),
    integers(entries, ({ sequence }) => sequence),
    unusualMoments(entries, usualMs),
    uuids(entries, ({ operation }) => operation.id),
    integers(entries, ({ rowIndex }) => rowIndex),
    decimals(entries, ({ row }) => row.delta ?? null),
    decimals(entries, ({ row }) => row.absolute ?? null),
    decimals(entries, ({ applied }) => applied.previous),
    decimals(entries, ({ applied }) => applied.applied),
    decimals(entries, ({ applied }) => applied.level),
    booleans(entries, ({ applied }) => applied.clamped),
    texts(entries, ({ operation }) => operation.channel),
    texts(entries, ({ operation }) => operation.keyId),
    uuids(entries, ({ operation }) => operation.requestId),
    texts(entries, ({ row }) => row.reason ?? null),
    texts(entries, ({ row }) => row.reference ?? null),
  ];
}

function recordArrays(records: OperationRecord[]): string[] {
  // Sorted, so that two transactions that record the same operations do not deadlock.
  const sorted = records.toSorted((one, other) => (one.operation.id < other.operation.id ? -1 : 1));
  // Only an execution carries the key: a cancelled, failed or replayed attempt must not answer for it (contract §7).
  const keyOf = ({ outcome, replayOf, operation }: OperationRecord) =>
    outcome.status === 'executed' && replayOf === null ? operation.idempotency : undefined;
  return [
    uuids(sorted, ({ operation }) => operation.id),
    integers(sorted, ({ shopId }) => shopId),
    texts(sorted, ({ materialId }) => materialId),
    texts(sorted, ({ outcome, replayOf }) => (replayOf === null ? outcome.status : 'replayed')),
    texts(sorted, ({ outcome, replayOf }) =>
      outcome.status === 'executed' && replayOf === null ? JSON.stringify(outcome.result) : null,
    ),
    uuids(sorted, ({ replayOf }) => replayOf),
    texts(sorted, (record) => keyOf(record)?.scope ?? null),
    texts(sorted, (record) => keyOf(record)?.requestHash ?? null),
  ];
}
