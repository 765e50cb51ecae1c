import type { Database } from './connect.js';

export interface OldestSnapshot {
  /** As `session 4711 pg_dump`, `replication slot …` or `prepared transaction …`. */
  holder: string;
  /** How many have begun on the server since, of all its databases. */
  transactions: number;
}

/**
 * Who looks furthest back in this database, for whom Postgres keeps every version of a row that others have replaced
 * since. A session that has written makes the snapshots of all others, and of all databases, as old as itself. A VACUUM
 * holds up nobody.
 */
export async function readOldestSnapshot(database: Database): Promise<OldestSnapshot | undefined> {
  const { rows } = await database.raw<{ rows: OldestSnapshot[] }>(
    `SELECT holder, greatest(written, seen) AS transactions
     FROM (
       SELECT concat_ws(' ', 'session', pid, nullif(application_name, '')) AS holder, age(backend_xid) AS written,
              CASE WHEN datname = current_database() OR datname IS NULL THEN age(backend_xmin) END AS seen
       FROM pg_stat_activity
       WHERE pid <> pg_backend_pid() AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
       UNION ALL
       SELECT 'replication slot ' || slot_name, NULL, age(xmin) FROM pg_replication_slots
       UNION ALL
       SELECT 'prepared transaction ' || gid, age(transaction), NULL FROM pg_prepared_xacts
     ) held
     WHERE written IS NOT NULL OR seen IS NOT NULL
     ORDER BY transactions DESC, written DESC NULLS LAST LIMIT 1`,
  );
  return rows[0];
}
