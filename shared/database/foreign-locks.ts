import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from './connect.js';
import { ours } from './table-faults.js';

/** What a transaction of another program locks, or waits to lock while others wait behind it. */
export interface ForeignLocks {
  /** No other transaction has it, whereas one session has many. */
  transaction: string;
  /** As `session 4711 psql`. */
  holder: string;
  /** As `levels (RowExclusiveLock), stock (RowShareLock)`. */
  tables: string;
}

/** Nobody's transaction that lasts no longer makes a request fail. */
const heldMsMin = 1_000;

/**
 * The transactions of others that have stood in the way of ours for a second. Since when they do is not told to every
 * role, so this asks twice.
 */
export async function readForeignLocks(database: Database): Promise<ForeignLocks[]> {
  const before = new Set((await askForLocks(database)).map(({ transaction }) => transaction));
  if (before.size === 0) return [];
  await delay(heldMsMin);
  return (await askForLocks(database)).filter(({ transaction }) => before.has(transaction));
}

/**
 * Locks of rows are not in `pg_locks`, but whoever has one also has a RowShareLock or RowExclusiveLock on the table.
 * The two modes left out, of readers and of VACUUM, hold up no request. A copy of this database has tables of the same
 * numbers.
 */
async function askForLocks(database: Database): Promise<ForeignLocks[]> {
  const { rows } = await database.raw<{ rows: ForeignLocks[] }>(
    `SELECT virtualtransaction AS transaction, concat_ws(' ', 'session', pid, nullif(application_name, '')) AS holder,
            string_agg(DISTINCT concat(CAST(relation AS regclass), ' (', mode, ')'), ', ') AS tables
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE datname = current_database() AND relation IN (SELECT to_regclass(name) FROM unnest(CAST(:ours AS text[])) AS name)
       AND application_name NOT LIKE 'raw-materials%' AND mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
       AND (granted OR mode NOT IN ('RowShareLock', 'RowExclusiveLock'))
     GROUP BY virtualtransaction, pid, application_name ORDER BY pid`,
    { ours },
  );
  return rows;
}
