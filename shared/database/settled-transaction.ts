import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from './connect.js';
import { codeOf, isTransient } from './errors.js';
import { findOutcomes, recordCommand } from './operations.js';

/** The connection was lost during a COMMIT, and Postgres could not be asked what became of it: it may be done. */
export class OpenCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost while the change was being committed', { cause });
  }
}

/** For how long to ask: a session whose client is gone may still commit, and Postgres may be away for a while. */
const settledMsMaxDefault = 10_000;
const askEveryMs = 200;

/** SQLSTATE of a transaction number that Postgres has not given yet: it has crashed since, and lost the transaction. */
const unknownTransaction = '22023';

/**
 * A transaction whose outcome is known in the end, for operators' commands, which must not be repeated blindly. (What
 * comes through the queue has its operation ids for that.) It leaves a row of its own among the operations. If its
 * connection breaks during the COMMIT, that row is looked for over another connection, once Postgres says that the
 * transaction is over (`pg_xact_status`). The transaction's number alone is not enough: after a crash Postgres gives a
 * number that never reached the disk to another transaction.
 *
 * @param options.onCommit called before the COMMIT is sent; from then on the process must not end by itself
 * @throws what failed, if nothing was done; `OpenCommit` if it is not known whether anything was
 */
export async function settledTransaction<T>(
  database: Database,
  work: (transaction: Database) => Promise<T>,
  { onCommit, settledMsMax = settledMsMaxDefault }: { onCommit?: () => void; settledMsMax?: number } = {},
): Promise<T> {
  const commandId = uuidv7();
  let committing: { transactionId: string; result: T } | undefined;
  try {
    return await database.transaction(async (transaction) => {
      const result = await work(transaction);
      committing = { transactionId: await recordCommand(transaction, commandId), result };
      onCommit?.();
      return result;
    });
  } catch (error) {
    if (committing === undefined || !isTransient(error)) throw error;
    const isDone = await isCommitted(database, { commandId, ...committing }, settledMsMax);
    if (isDone === undefined) throw new OpenCommit(error);
    if (!isDone) throw error;
    return committing.result;
  }
}

/** @returns undefined if it is not settled in time, or Postgres cannot be asked */
async function isCommitted(
  database: Database,
  { commandId, transactionId }: { commandId: string; transactionId: string },
  settledMsMax: number,
): Promise<boolean | undefined> {
  for (const endMs = performance.now() + settledMsMax; performance.now() < endMs; await delay(askEveryMs)) {
    try {
      // In this order: the other way round, it could commit between the two questions.
      if (await isUnderWay(database, transactionId)) continue;
      return (await findOutcomes(database, [commandId])).has(commandId);
    } catch {
      // Away, or still recovering: asked again.
    }
  }
  return undefined;
}

async function isUnderWay(database: Database, transactionId: string): Promise<boolean> {
  try {
    const { rows } = await database.raw<{ rows: { status: string | null }[] }>(
      'SELECT pg_xact_status(CAST(? AS xid8)) AS status',
      [transactionId],
    );
    return rows[0]?.status === 'in progress';
  } catch (error) {
    if (codeOf(error) === unknownTransaction) return false;
    throw error;
  }
}
