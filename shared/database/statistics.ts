import type { Database } from './connect.js';
import { connectionPool, streamOf } from './raw-connection.js';
import type { RawConnection } from './raw-connection.js';

/**
 * Gives the planner statistics where it has none, or knows of fewer materials than have just been added. Until
 * autovacuum makes them, a minute later, it may take the index of a sort key for the primary key: a page of a thousand
 * materials took Postgres 29 ms instead of 5. It waits for nobody: whoever holds a table for its statistics makes them.
 *
 * @param abort as of `refreshStatistics`
 */
export async function makeMissingStatistics(database: Database, added = 0, abort?: AbortSignal): Promise<void> {
  await untilAborted(database, abort, async (connection) => {
    const { rows } = await database
      .raw<{ rows: unknown[] }>(`SELECT 1 FROM pg_class WHERE oid = CAST('materials' AS regclass) AND reltuples < ?`, [
        added,
      ])
      .connection(connection);
    if (rows.length === 0) return;
    await database
      .raw('ANALYZE (SKIP_LOCKED) materials, stock, levels, ledger, facets, facet_counts')
      .connection(connection);
  });
}

/**
 * Sorts in what the search index has collected (`pendingListKb`), which every search of every shop reads from end to
 * end. Autovacuum does not do it before a tenth of all materials have changed: after 9,999 were added to 110,000, a
 * search took 60 to 107 ms, and 4 to 17 ms when they were sorted in, which took a second. Postgres lets only the owner of
 * the index do it, so for another role it is left to autovacuum. It waits while the index is built anew.
 *
 * @param abort as of `refreshStatistics`
 */
export async function sortInSearchIndex(database: Database, abort: AbortSignal | undefined): Promise<void> {
  await untilAborted(database, abort, async (connection) => {
    await database
      .raw(
        `SELECT gin_clean_pending_list(oid) FROM pg_class
         WHERE oid = CAST('materials_search_idx' AS regclass) AND pg_has_role(relowner, 'USAGE')`,
      )
      .connection(connection);
  });
}

/** The SQLSTATE class of warnings. The severity of a notice is a word in the server's language. */
const warningClass = '01';

/**
 * After a large import: makes statistics and the visibility map, by which the list reads its indexes alone, and sorts
 * in what the search index has collected. Autovacuum would do the same, a minute later and more slowly.
 *
 * @throws also if a table was left out, as for a role that neither owns it nor has MAINTAIN (Postgres 17) on it
 * @param abort ends the connection; Postgres notices it after the statement
 */
export async function refreshStatistics(database: Database, abort?: AbortSignal): Promise<void> {
  let refusal: string | undefined;
  const hear = ({ code, message }: { code?: string | undefined; message?: string | undefined }) => {
    if (code?.startsWith(warningClass) === true) refusal ??= message;
  };
  await untilAborted(database, abort, async (connection) => {
    connection.on('notice', hear);
    try {
      await database
        .raw('VACUUM (ANALYZE) materials, stock, levels, ledger, facets, facet_counts')
        .connection(connection);
    } finally {
      connection.off('notice', hear);
    }
  });
  // Postgres leaves out a table that is not the role's with a warning, and calls the whole a success.
  if (refusal !== undefined) throw new Error(refusal);
}

/** Does the work on a connection of its own, which `abort` ends. */
async function untilAborted(
  database: Database,
  abort: AbortSignal | undefined,
  work: (connection: RawConnection) => Promise<void>,
): Promise<void> {
  const pool = connectionPool(database);
  const connection = await pool.acquireConnection();
  const end = () => streamOf(connection).destroy();
  if (abort?.aborted === true) end();
  abort?.addEventListener('abort', end, { once: true });
  try {
    await work(connection);
  } finally {
    abort?.removeEventListener('abort', end);
    await pool.releaseConnection(connection);
  }
}
