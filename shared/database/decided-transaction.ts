import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from './connect.js';
import { isInfrastructureError } from './errors.js';

/** The connection was lost under a COMMIT, and Postgres could not be asked what became of it: it may be done. */
export class OpenCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost while the change was being committed', { cause });
  }
}

/** How long a session whose client is gone may still be about to commit, and Postgres be away in between. */
const decidedMsMaxDefault = 10_000;
const askEveryMs = 200;

/**
 * A transaction of which it is known in the end whether it was committed: where its connection breaks under the COMMIT,
 * Postgres is asked for its status over another one (`pg_xact_status`). For commands, which nobody repeats blindly; what
 * comes through the queue has its operation ids for that.
 *
 * @param options.onCommit called before the COMMIT is sent; from then on the process must not end by itself
 * @throws what failed, and nothing was done; `OpenCommit` where that is not known
 */
export async function decidedTransaction<T>(
  database: Database,
  work: (transaction: Database) => Promise<T>,
  { onCommit, decidedMsMax = decidedMsMaxDefault }: { onCommit?: () => void; decidedMsMax?: number } = {},
): Promise<T> {
  let committing: { id: string; result: T } | undefined;
  try {
    return await database.transaction(async (transaction) => {
      const result = await work(transaction);
      const { rows } = await transaction.raw<{ rows: { id: string }[] }>(
        'SELECT CAST(pg_current_xact_id() AS text) AS id',
      );
      committing = { id: rows[0]?.id ?? '', result };
      onCommit?.();
      return result;
    });
  } catch (error) {
    if (committing === undefined || !isInfrastructureError(error)) throw error;
    const status = await statusOf(database, committing.id, decidedMsMax);
    if (status === 'committed') return committing.result;
    throw status === 'aborted' ? error : new OpenCommit(error);
  }
}

/** @returns undefined where it is not decided in time, or nobody can be asked */
async function statusOf(
  database: Database,
  id: string,
  decidedMsMax: number,
): Promise<'committed' | 'aborted' | undefined> {
  for (const endMs = performance.now() + decidedMsMax; performance.now() < endMs; await delay(askEveryMs)) {
    const status = await database
      .raw<{ rows: { status: string | null }[] }>('SELECT pg_xact_status(CAST(:id AS xid8)) AS status', { id })
      .then(({ rows }) => rows[0]?.status)
      .catch(() => undefined);
    if (status === 'committed' || status === 'aborted') return status;
  }
  return undefined;
}
