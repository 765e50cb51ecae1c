import type { QueryConfig, QueryResult } from 'pg';
import type { AdjustmentRow, RowApplied } from '../domain/adjustment.js';
import type { Idempotency, MaterialRef, Operation, OperationOutcome } from '../domain/operation.js';
import type { Micros } from '../domain/quantity.js';
import { fieldQueries } from './apply-fields.js';
import type { WrittenMaterial } from './apply-fields.js';
import type { LevelSnapshot } from './apply-snapshot.js';
import { toOutcome } from './outcome-rows.js';
import { arraysOf, namesOf, unnestFrom } from './array-columns.js';
import type { ArrayColumn } from './array-columns.js';
import { booleans, decimals, integers, moments, texts, uuids } from './array-literals.js';

// The second message of the apply step: everything that it changes, in as few statements as it takes.

export interface LevelWrite extends MaterialRef, LevelSnapshot {
  locationId: string;
  atMs: number;
}

export interface NewLedgerEntry {
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
  entries: NewLedgerEntry[];
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

// The columns of what is written, without their time (`timedArraysOf`).

const updatedColumns: ArrayColumn<LevelWrite>[] = [
  { name: 'shop_id', type: 'int', toArray: (rows) => integers(rows, ({ shopId }) => shopId) },
  { name: 'id', type: 'bigint', toArray: (rows) => integers(rows, ({ id }) => id) },
  { name: 'quantity', type: 'numeric', toArray: (rows) => decimals(rows, ({ quantity }) => quantity) },
  { name: 'sequence', type: 'bigint', toArray: (rows) => integers(rows, ({ sequence }) => sequence) },
];

const insertedColumns: ArrayColumn<LevelWrite>[] = [
  { name: 'material_id', type: 'text', toArray: (rows) => texts(rows, ({ materialId }) => materialId) },
  { name: 'location_id', type: 'text', toArray: (rows) => texts(rows, ({ locationId }) => locationId) },
  ...updatedColumns,
];

const totalColumns: ArrayColumn<ApplyWrites['totals'][number]>[] = [
  { name: 'shop_id', type: 'int', toArray: (rows) => integers(rows, ({ shopId }) => shopId) },
  { name: 'material_id', type: 'text', toArray: (rows) => texts(rows, ({ materialId }) => materialId) },
  { name: 'total', type: 'numeric', toArray: (rows) => decimals(rows, ({ total }) => total) },
];

const entryColumns: ArrayColumn<NewLedgerEntry>[] = [
  { name: 'shop_id', type: 'int', toArray: (rows) => integers(rows, ({ shopId }) => shopId) },
  { name: 'level_id', type: 'bigint', toArray: (rows) => integers(rows, ({ levelId }) => levelId) },
  { name: 'sequence', type: 'bigint', toArray: (rows) => integers(rows, ({ sequence }) => sequence) },
  { name: 'op_id', type: 'uuid', toArray: (rows) => uuids(rows, ({ operation }) => operation.id) },
  { name: 'row_index', type: 'int', toArray: (rows) => integers(rows, ({ rowIndex }) => rowIndex) },
  { name: 'requested_delta', type: 'numeric', toArray: (rows) => decimals(rows, ({ row }) => row.delta ?? null) },
  { name: 'requested_absolute', type: 'numeric', toArray: (rows) => decimals(rows, ({ row }) => row.absolute ?? null) },
  { name: 'previous', type: 'numeric', toArray: (rows) => decimals(rows, ({ applied }) => applied.previous) },
  { name: 'applied', type: 'numeric', toArray: (rows) => decimals(rows, ({ applied }) => applied.applied) },
  { name: 'level_after', type: 'numeric', toArray: (rows) => decimals(rows, ({ applied }) => applied.level) },
  { name: 'clamped', type: 'boolean', toArray: (rows) => booleans(rows, ({ applied }) => applied.clamped) },
  { name: 'channel', type: 'text', toArray: (rows) => texts(rows, ({ operation }) => operation.channel) },
  { name: 'key_id', type: 'text', toArray: (rows) => texts(rows, ({ operation }) => operation.keyId) },
  { name: 'request_id', type: 'uuid', toArray: (rows) => uuids(rows, ({ operation }) => operation.requestId) },
  { name: 'reason', type: 'text', toArray: (rows) => texts(rows, ({ row }) => row.reason ?? null) },
  { name: 'reference', type: 'text', toArray: (rows) => texts(rows, ({ row }) => row.reference ?? null) },
];

const recordColumns: ArrayColumn<OperationRecord>[] = [
  { name: 'op_id', type: 'uuid', toArray: (rows) => uuids(rows, ({ operation }) => operation.id) },
  { name: 'shop_id', type: 'int', toArray: (rows) => integers(rows, ({ shopId }) => shopId) },
  { name: 'material_id', type: 'text', toArray: (rows) => texts(rows, ({ materialId }) => materialId) },
  { name: 'status', type: 'text', toArray: (rows) => texts(rows, statusOf) },
  { name: 'result', type: 'json', toArray: (rows) => texts(rows, resultOf) },
  { name: 'replay_of', type: 'uuid', toArray: (rows) => uuids(rows, ({ replayOf }) => replayOf) },
  { name: 'key_scope', type: 'text', toArray: (rows) => texts(rows, (row) => keyOf(row)?.scope ?? null) },
  { name: 'request_hash', type: 'text', toArray: (rows) => texts(rows, (row) => keyOf(row)?.requestHash ?? null) },
];

function statusOf({ outcome, replayOf }: OperationRecord): string {
  return replayOf === null ? outcome.status : 'replayed';
}

function resultOf({ outcome, replayOf }: OperationRecord): string | null {
  return outcome.status === 'executed' && replayOf === null ? JSON.stringify(outcome.result) : null;
}

/** Only an execution carries the key: a cancelled, failed or replayed attempt must not answer for it (contract §7). */
function keyOf({ outcome, replayOf, operation }: OperationRecord): Idempotency | undefined {
  return outcome.status === 'executed' && replayOf === null ? operation.idempotency : undefined;
}

/**
 * The arrays of rows, and of their times. The latter is empty if all have the usual time, as they nearly always do:
 * unnested beside longer arrays it gives nulls, for which the statement takes the usual time. A time for each row cost
 * the worker 3 to 21 % of a batch of 100 rows.
 */
function timedArraysOf<Row extends { atMs: number }>(
  columns: readonly ArrayColumn<Row>[],
  rows: readonly Row[],
  usualMs: number,
): string[] {
  const times = rows.every(({ atMs }) => atMs === usualMs) ? '{}' : moments(rows, ({ atMs }) => atMs);
  return [...arraysOf(columns, rows), times];
}

const unnest = unnestFrom(2);
const timeColumn = { name: 'at', type: 'timestamptz' };
const unnestTimed = (columns: Parameters<typeof unnest>[0]) => unnest([...columns, timeColumn]);

/**
 * One statement writes levels, totals, ledger and operations; four statements would each cost 0.1 ms more. It reads
 * nothing that it may have waited for (pipeline §2.6): ids and sequences of levels were read, or drawn, under the lock.
 */
const writeState = `
  WITH updated AS (
    UPDATE levels SET quantity = changed.quantity, sequence = changed.sequence,
      updated_at = coalesce(changed.at, $1::timestamptz)
    FROM (${unnestTimed(updatedColumns)}) AS changed
    WHERE levels.id = changed.id AND levels.shop_id = changed.shop_id
  ),
  inserted AS (
    INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
    SELECT shop_id, material_id, location_id, id, quantity, sequence, coalesce(at, $1::timestamptz)
    FROM (${unnestTimed(insertedColumns)}) AS first
  ),
  booked AS (
    UPDATE stock SET total_quantity = changed.total, updated_at = coalesce(changed.at, $1::timestamptz)
    FROM (${unnestTimed(totalColumns)}) AS changed
    WHERE stock.shop_id = changed.shop_id AND stock.material_id = changed.material_id
  ),
  entered AS (
    INSERT INTO ledger (${namesOf(entryColumns)}, at)
    SELECT ${namesOf(entryColumns)}, coalesce(at, $1::timestamptz)
    FROM (${unnestTimed(entryColumns)}) AS entry
  )
  ${recordFrom(unnest(recordColumns))}`;

const recordWithoutMaterial = `
  ${recordFrom(unnestFrom(2)(recordColumns))}
  ON CONFLICT (op_id) DO NOTHING
  RETURNING op_id`;

function recordFrom(records: string): string {
  return `
  INSERT INTO operations (op_id, shop_id, material_id, status, result, replay_of, key_scope, request_hash, recorded_at)
  SELECT op_id, shop_id, material_id, status, result, replay_of,
         decode(key_scope, 'hex'), decode(request_hash, 'hex'), $1::timestamptz
  FROM (${records}) AS done`;
}

/** A separate statement, because an insert that does nothing on a conflict does not see the other's row. */
const rereadWithoutMaterial = `
  SELECT op_id, status, result::text
  FROM unnest($1::uuid[]) AS wanted (op_id)
  JOIN operations USING (op_id)`;

export function writingQueries(writes: ApplyWrites): QueryConfig[] {
  const queries: QueryConfig[] = [];
  const moment = new Date(writes.atMs).toISOString();
  if (writes.records.length > 0) {
    queries.push({ name: 'apply-write', text: writeState, values: [moment, ...stateArrays(writes)] });
  }
  queries.push(...fieldQueries(writes.materials));
  if (writes.recordsWithoutMaterial.length > 0) {
    const records = sorted(writes.recordsWithoutMaterial);
    const operationIds = uuids(writes.recordsWithoutMaterial, ({ operation }) => operation.id);
    // These two come last: `readWithoutMaterial` looks for their answers there.
    queries.push(
      {
        name: 'apply-without-material',
        text: recordWithoutMaterial,
        values: [moment, ...arraysOf(recordColumns, records)],
      },
      { name: 'apply-reread', text: rereadWithoutMaterial, values: [operationIds] },
    );
  }
  return queries;
}

/** What was done with the operations whose material does not exist. */
interface WrittenWithoutMaterial {
  /** What is on record for them: their own outcome, or an earlier one. */
  outcomes: Map<string, OperationOutcome>;
  /** Those that nobody had recorded before. */
  records: OperationRecord[];
}

/** @param answers to the `writingQueries` of these writes */
export function readWithoutMaterial(
  { recordsWithoutMaterial }: ApplyWrites,
  answers: QueryResult[],
): WrittenWithoutMaterial {
  if (recordsWithoutMaterial.length === 0) return { outcomes: new Map(), records: [] };
  const inserted = answers.at(-2)?.rows as { op_id: string }[];
  const reread = answers.at(-1)?.rows as { op_id: string; status: string; result: string | null }[];
  const insertedIds = new Set(inserted.map(({ op_id: id }) => id));
  const own = new Map(recordsWithoutMaterial.map(({ operation, outcome }) => [operation.id, outcome]));
  const outcomes = new Map(
    reread.map(({ op_id: id, status, result }) => {
      const recorded = own.get(id);
      // A replay's row has no result: it is that of the request that it repeats, which is ours.
      const isReplay = status === 'replayed' && recorded?.status === 'executed';
      return [id, isReplay ? recorded : toOutcome(status, result)];
    }),
  );
  return { outcomes, records: recordsWithoutMaterial.filter(({ operation }) => insertedIds.has(operation.id)) };
}

/** In the order in which `writeState` unnests them. */
function stateArrays({ levels, totals, entries, records, atMs }: ApplyWrites): string[] {
  const [updated, inserted] = [levels.filter(({ exists }) => exists), levels.filter(({ exists }) => !exists)];
  return [
    ...timedArraysOf(updatedColumns, updated, atMs),
    ...timedArraysOf(insertedColumns, inserted, atMs),
    ...timedArraysOf(totalColumns, totals, atMs),
    ...timedArraysOf(entryColumns, entries, atMs),
    ...arraysOf(recordColumns, sorted(records)),
  ];
}

/** So that two transactions that record the same operations do not deadlock. */
function sorted(records: OperationRecord[]): OperationRecord[] {
  return records.toSorted((one, other) => (one.operation.id < other.operation.id ? -1 : 1));
}
