import type { MaterialRef, OperationOutcome } from '../domain/operation.js';
import { readOutcome } from './outcome-rows.js';
import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';
import { readRows } from './read-rows.js';
import { commitsAsync } from './async-commit.js';

/** An operation, for those that wait for it or give it up. */
export interface OperationRef extends MaterialRef {
  id: string;
}

export interface Recorded {
  /** What is on record now for each operation whose material could be locked, or does not exist. */
  outcomes: Map<string, OperationOutcome>;
  /** Materials whose rows another session holds. Nothing was recorded for their operations. */
  leftOut: MaterialRef[];
}

const recordTimeoutMs = 2_000;

/**
 * What Postgres has on record for these operations. One that is absent has not been decided, or in words that only a
 * later version knows (`readOutcome`): then it stays open, and is answered as such, but keeps no other from its answer.
 */
export async function findOutcomes(database: Database, operationIds: string[]): Promise<Map<string, OperationOutcome>> {
  const rows = await readRows<OutcomeRow>(
    database,
    `SELECT operations.op_id, operations.status, coalesce(operations.result, original.result)::text AS result
     FROM operations
     LEFT JOIN operations AS original ON original.op_id = operations.replay_of
     WHERE operations.op_id = ANY (CAST(:operationIds AS uuid[]))`,
    { operationIds },
  );
  const outcomes = new Map<string, OperationOutcome>();
  for (const { op_id: id, status, result } of rows) {
    const outcome = readOutcome(status, result);
    if (outcome !== undefined) outcomes.set(id, outcome);
  }
  return outcomes;
}

/**
 * Puts an operator's command on record, under no shop, in the command's own transaction.
 *
 * @param commandId a UUIDv7, like every id in this table, by which old rows are found (`pruneOperations`)
 * @returns the id of that transaction
 */
export async function recordCommand(transaction: Database, commandId: string): Promise<string> {
  const { rows } = await transaction.raw<{ rows: { id: string }[] }>(
    `INSERT INTO operations (op_id, shop_id, material_id, status, result, recorded_at)
     VALUES (?, 0, '', 'executed', '{}', now())
     RETURNING CAST(pg_current_xact_id() AS text) AS id`,
    [commandId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an insert returned no row');
  return row.id;
}

/**
 * Cancels operations that nobody has decided yet (pipeline §3 "The end of the wait"): `cancelled` goes on record, and
 * a worker that meets one later finds it there. One that was decided keeps its outcome.
 */
export function cancelOperations(database: Database, operations: OperationRef[]): Promise<Recorded> {
  return record(database, operations, 'cancelled');
}

/** Records operations as failed by a fault of ours: not applied, and not remembered for a key. */
export function recordFailed(database: Database, operations: OperationRef[]): Promise<Recorded> {
  return record(database, operations, 'failed');
}

async function record(
  database: Database,
  operations: OperationRef[],
  status: 'cancelled' | 'failed',
): Promise<Recorded> {
  const shopIds = operations.map(({ shopId }) => shopId);
  const materialIds = operations.map(({ materialId }) => materialId);
  return database.transaction(async (transaction) => {
    // If this process stands still, or its machine is gone, Postgres ends the transaction and frees its locks.
    await transaction.raw(
      `SELECT set_config('statement_timeout', :ms, true), set_config('idle_in_transaction_session_timeout', :ms, true)`,
      { ms: String(recordTimeoutMs) },
    );
    // The apply step decides under this lock: whoever holds it may be deciding one of these operations right now. In no
    // order, because it waits for nobody.
    const { rows: locked } = await transaction.raw<{ rows: MaterialRow[] }>(
      `SELECT stock.shop_id, stock.material_id
       FROM stock
       JOIN (SELECT DISTINCT * FROM unnest(?::int[], ?::text[]) AS u (shop_id, material_id)) AS wanted
         USING (shop_id, material_id)
       FOR NO KEY UPDATE OF stock SKIP LOCKED`,
      [shopIds, materialIds],
    );
    // fail-point: after-cancellation-lock
    const { rows: existing } = await transaction.raw<{ rows: MaterialRow[] }>(
      `SELECT DISTINCT stock.shop_id, stock.material_id
       FROM stock JOIN unnest(?::int[], ?::text[]) AS wanted (shop_id, material_id) USING (shop_id, material_id)`,
      [shopIds, materialIds],
    );
    const isLocked = new Set(locked.map(keyOfRow));
    const leftOut = existing.filter((row) => !isLocked.has(keyOfRow(row)));
    const isLeftOut = new Set(leftOut.map(keyOfRow));
    const open = operations
      .filter(({ shopId, materialId }) => !isLeftOut.has(`${shopId}.${materialId}`))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    await transaction.raw(
      `INSERT INTO operations (op_id, shop_id, material_id, status, recorded_at)
       SELECT given_up.*, ?, statement_timestamp()
       FROM unnest(?::uuid[], ?::int[], ?::text[]) AS given_up (op_id, shop_id, material_id)
       ON CONFLICT (op_id) DO NOTHING`,
      [status, open.map(({ id }) => id), open.map(({ shopId }) => shopId), open.map(({ materialId }) => materialId)],
    );
    // A separate statement: an insert that does nothing on a conflict does not see the other's row.
    const outcomes = await findOutcomes(
      transaction,
      open.map(({ id }) => id),
    );
    return { outcomes, leftOut: leftOut.map((row) => ({ shopId: row.shop_id, materialId: row.material_id })) };
  });
}

export interface OperationBatch {
  keptMs: number;
  batchSize: number;
  /**
   * What the batch before returned: from the start, the scan would pass over all deleted rows until the next vacuum.
   */
  after?: string | undefined;
}

/**
 * Deletes a batch of operations that are so old that nobody can ask for them any more. The ledger stays. It can run
 * beside full load, and beside another process that does the same, because it skips rows that another session holds.
 *
 * Age is by Postgres' clock (`recorded_at`), not by the id alone. An API process dates the id by its own clock, which
 * may be wrong: an operation of a machine that woke up in 1970 was on record, and its key remembered, for a minute.
 * What Postgres itself has dated after tomorrow was recorded while its clock was wrong; then the id says how old it is.
 *
 * @returns the last id deleted, where the batch was full and there may be more
 */
export function pruneOperations(database: Database, batch: OperationBatch): Promise<string | undefined> {
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
 *
 * @returns the last id looked at, where the batch was full and there may be more
 */
export function pruneOperationsAhead(database: Database, batch: OperationBatch): Promise<string | undefined> {
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
): Promise<string | undefined> {
  const bindings = { after, batchSize, keptMs };
  const rows = await runReadCommitted<{ count: string; last: string | null }>(database, sql, bindings);
  const [{ count, last } = { count: '0', last: null }] = rows;
  return Number(count) === batchSize && last !== null ? last : undefined;
}

const keptSince = `statement_timestamp() - CAST(:keptMs AS bigint) * interval '1 millisecond'`;
const tomorrow = `statement_timestamp() + interval '1 day'`;

/** A UUIDv7 begins with its millisecond, so the order of the primary key is that of time. */
function firstIdOf(moment: string): string {
  const hex = `to_hex(greatest(0, CAST(extract(epoch FROM ${moment}) * 1000 AS bigint)))`;
  return `CAST(lpad(${hex}, 12, '0') || '70008000000000000000' AS uuid)`;
}

const nilUuid = '00000000-0000-0000-0000-000000000000';

interface OutcomeRow {
  op_id: string;
  status: string;
  result: string | null;
}

interface MaterialRow {
  shop_id: number;
  material_id: string;
}

function keyOfRow({ shop_id: shopId, material_id: materialId }: MaterialRow): string {
  return `${shopId}.${materialId}`;
}
