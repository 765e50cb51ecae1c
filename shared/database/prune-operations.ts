import { commitsAsync } from './async-commit.js';
import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';

export interface OperationBatch {
  keptMs: number;
  batchSize: number;
  /**
   * What the batch before returned: from the start, the scan would pass over all deleted rows until the next vacuum.
   */
  after?: string | undefined;
}

export interface PrunedBatch {
  /** The last id that was looked at; undefined where there was none. */
  last: string | undefined;
  /** Whether there may be more after it. */
  isFull: boolean;
}

/**
 * Deletes a batch of operations that are so old that nobody can ask for them any more. The ledger stays. It can run
 * beside full load, and beside another process that does the same, because it skips rows that another session holds.
 *
 * Age is by Postgres' clock (`recorded_at`), not by the id alone. An API process dates the id by its own clock, which
 * may be wrong: an operation of a machine that woke up in 1970 was on record, and its key remembered, for a minute.
 * What Postgres itself has dated after tomorrow was recorded while its clock was wrong; then the id says how old it is.
 */
export function pruneOperations(database: Database, batch: OperationBatch): Promise<PrunedBatch> {
  return pruneBatch(
    database,
    batch,
    `WITH old AS (
       SELECT op_id FROM operations
       WHERE ${commitsAsync} AND op_id > :after AND op_id < ${firstIdOf(keptSince)}
         AND (recorded_at < ${keptSince} OR recorded_at > ${tomorrow})
       ORDER BY op_id LIMIT :batchSize FOR UPDATE SKIP LOCKED
     ), deleted AS (
       DELETE FROM operations USING old WHERE operations.op_id = old.op_id
     )
     SELECT count(*), max(op_id::text) AS last FROM old`,
  );
}

/**
 * Deletes old operations whose ids are dated in the future, by an API process whose clock was years ahead:
 * `pruneOperations` would find them only years from now. Looks at all ids dated after tomorrow, by the primary key;
 * usually there are none.
 */
export function pruneOperationsAhead(database: Database, batch: OperationBatch): Promise<PrunedBatch> {
  return pruneBatch(
    database,
    batch,
    `WITH ahead AS MATERIALIZED (
       SELECT op_id, recorded_at FROM operations
       WHERE ${commitsAsync} AND op_id > :after AND op_id > ${firstIdOf(tomorrow)} ORDER BY op_id LIMIT :batchSize
     ), old AS (
       SELECT op_id FROM operations
       WHERE op_id = ANY (ARRAY (SELECT op_id FROM ahead WHERE recorded_at < ${keptSince}))
       FOR UPDATE SKIP LOCKED
     ), deleted AS (
       DELETE FROM operations USING old WHERE operations.op_id = old.op_id
     )
     SELECT count(*), max(op_id::text) AS last FROM ahead`,
  );
}

/** @param sql gives `count`, how many operations it looked at, and `last`, the last of their ids */
async function pruneBatch(
  database: Database,
  { keptMs, batchSize, after = nilUuid }: OperationBatch,
  sql: string,
): Promise<PrunedBatch> {
  const bindings = { after, batchSize, keptMs };
  const rows = await runReadCommitted<{ count: string; last: string | null }>(database, sql, bindings);
  const [{ count, last } = { count: '0', last: null }] = rows;
  return { last: last ?? undefined, isFull: Number(count) === batchSize };
}

const keptSince = `statement_timestamp() - CAST(:keptMs AS bigint) * interval '1 millisecond'`;
const tomorrow = `statement_timestamp() + interval '1 day'`;

/** A UUIDv7 begins with its millisecond, so the order of the primary key is that of time. */
function firstIdOf(moment: string): string {
  const hex = `to_hex(greatest(0, CAST(extract(epoch FROM ${moment}) * 1000 AS bigint)))`;
  return `CAST(lpad(${hex}, 12, '0') || '70008000000000000000' AS uuid)`;
}

/** The same of a moment in milliseconds since the epoch, as Postgres writes ids. */
export function firstOperationIdAt(epochMs: number): string {
  const hex = Math.max(0, epochMs).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const nilUuid = '00000000-0000-0000-0000-000000000000';
