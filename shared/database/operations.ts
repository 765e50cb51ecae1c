import { materialKey } from '../domain/operation.js';
import type { MaterialRef, OperationOutcome } from '../domain/operation.js';
import { refArrays, uuids } from './array-literals.js';
import { readOutcome } from './outcome-rows.js';
import type { Database } from './connect.js';
import { readRows } from './read-rows.js';

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
  const refs = refArrays(operations);
  return database.transaction(async (transaction) => {
    // If this process stands still, or its machine is gone, Postgres ends the transaction and frees its locks.
    await transaction.raw(
      `SELECT set_config('statement_timeout', :ms, true), set_config('idle_in_transaction_session_timeout', :ms, true)`,
      { ms: String(recordTimeoutMs) },
    );
    // The apply step decides under this lock: whoever holds it may be deciding one of these operations right now. In no
    // order, because it waits for nobody.
    const { rows: locked } = await transaction.raw<{ rows: MaterialRef[] }>(
      `SELECT stock.shop_id AS "shopId", stock.material_id AS "materialId"
       FROM stock
       JOIN (SELECT DISTINCT * FROM unnest(?::int[], ?::text[]) AS u (shop_id, material_id)) AS wanted
         USING (shop_id, material_id)
       FOR NO KEY UPDATE OF stock SKIP LOCKED`,
      refs,
    );
    // fail-point: after-cancellation-lock
    const { rows: existing } = await transaction.raw<{ rows: MaterialRef[] }>(
      `SELECT DISTINCT stock.shop_id AS "shopId", stock.material_id AS "materialId"
       FROM stock JOIN unnest(?::int[], ?::text[]) AS wanted (shop_id, material_id) USING (shop_id, material_id)`,
      refs,
    );
    const isLocked = new Set(locked.map(materialKey));
    const leftOut = existing.filter((ref) => !isLocked.has(materialKey(ref)));
    const isLeftOut = new Set(leftOut.map(materialKey));
    const open = operations
      .filter((operation) => !isLeftOut.has(materialKey(operation)))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    await transaction.raw(
      `INSERT INTO operations (op_id, shop_id, material_id, status, recorded_at)
       SELECT given_up.*, ?, statement_timestamp()
       FROM unnest(?::uuid[], ?::int[], ?::text[]) AS given_up (op_id, shop_id, material_id)
       ON CONFLICT (op_id) DO NOTHING`,
      [status, uuids(open, ({ id }) => id), ...refArrays(open)],
    );
    // A separate statement: an insert that does nothing on a conflict does not see the other's row.
    const outcomes = await findOutcomes(
      transaction,
      open.map(({ id }) => id),
    );
    return { outcomes, leftOut };
  });
}

interface OutcomeRow {
  op_id: string;
  status: string;
  result: string | null;
}
