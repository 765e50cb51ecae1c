import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from './connect.js';
import { isInfrastructureError } from './errors.js';
import { findOutcomes, recordCommand } from './operations.js';

/** The connection was lost under a COMMIT, and Postgres could not be asked what became of it: it may be done. */
export class OpenCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost while the change was being committed', { cause });
  }
}

/** How long to ask: a session whose client is gone may still commit, and Postgres may be away in between. */
const decidedMsMaxDefault = 10_000;
const askEveryMs = 200;

/** To Postgres the transaction's number is still to come: it has recovered from a crash, without this one. */
const unknownTransaction = '22023';

/**
 * A transaction whose outcome is known in the end. It leaves a row of its own among the operations. If its connection
 * breaks under the COMMIT, that row is looked for over another, once Postgres says that the transaction is over
 * (`pg_xact_status`). The transaction's number alone says nothing after a crash of Postgres, which gives a number that
 * never reached the disk to another transaction. For commands, which nobody repeats blindly; what comes through the
 * queue has its operation ids for that.
 *
 * @param options.onCommit called before the COMMIT is sent; from then on the process must not end by itself
 * @throws what failed, if nothing was done; `OpenCommit` if it is not known whether anything was
 */
export async function decidedTransaction<T>(
  database: Database,
  work: (transaction: Database) => Promise<T>,
  { onCommit, decidedMsMax = decidedMsMaxDefault }: { onCommit?: () => void; decidedMsMax?: number } = {},
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
    if (committing === undefined || !isInfrastructureError(error)) throw error;
    const isDone = await isCommitted(database, { commandId, ...committing }, decidedMsMax);
    if (isDone === undefined) throw new OpenCommit(error);
    if (!isDone) throw error;
    return committing.result;
  }
}

/** @returns undefined where it is not decided in time, or nobody can be asked */
async function isCommitted(
  database: Database,
  { commandId, transactionId }: { commandId: string; transactionId: string },
  decidedMsMax: number,
): Promise<boolean | undefined> {
  for (const endMs = performance.now() + decidedMsMax; performance.now() < endMs; await delay(askEveryMs)) {
    try {
      // First whether it is over, then in a later statement what it left: the other way round it could end in between.
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
    if ((error as { code?: unknown }).code === unknownTransaction) return false;
    throw error;
  }
}
