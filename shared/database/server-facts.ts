import type { Database } from './connect.js';
import { waitsForStandby } from './takes-writes.js';

/** What a Postgres says of itself, as far as the service depends on it. */
export interface ServerFacts {
  /** As `18.4`, or longer where a distribution adds its own name. */
  version: string;
  /** 18 for every 18.x. */
  major: number;
  /** 4 of 18.4. */
  minor: number;
  database: string;
  /** Of these sessions. Unless it is `on` or stricter, an answered commit may be lost with the machine. */
  synchronousCommit: string;
  /** Whether a transaction begun now could not write: in recovery, or read-only as set for the role or database. */
  readOnly: boolean;
  /** Whether commits wait for a synchronous standby that is away; while nobody writes, none does. */
  waitsForStandby: boolean;
  fsync: string;
  /** Whether a page that a crash tore can be mended. */
  fullPageWrites: boolean;
  /** Whether triggers run, which keep the counts of lists; not with `session_replication_role` set to `replica`. */
  runsTriggers: boolean;
  /** Whether NULL in the text of an array is read as a null; the statements that write need that. */
  arrayNulls: boolean;
  /** Of the database. With any but `UTF8`, characters are counted wrongly or cannot be stored. */
  encoding: string;
  /**
   * Whether `lower`, which search and sort use, knows letters beyond ASCII, and makes an I an i. In a database of locale
   * C it does not, nor in a Turkish one.
   */
  foldsCase: boolean;
  /** Whether the collation has another version than on record, so that indexes on texts may be in another order. */
  ordersOtherwise: boolean;
}

/** The first that says which version of a collation a database has. */
const collationsToldFrom = 15;

export async function readServerFacts(database: Database): Promise<ServerFacts> {
  const { rows } = await database.raw<{ rows: Omit<ServerFacts, 'ordersOtherwise'>[] }>(
    `SELECT current_setting('server_version') AS version, current_database() AS database,
            current_setting('server_version_num')::int / 10000 AS major,
            current_setting('server_version_num')::int % 10000 AS minor,
            current_setting('synchronous_commit') AS "synchronousCommit", current_setting('fsync') AS fsync,
            current_setting('full_page_writes') = 'on' AS "fullPageWrites",
            current_setting('session_replication_role') <> 'replica' AS "runsTriggers",
            current_setting('transaction_read_only') = 'on' AS "readOnly",
            ${waitsForStandby} AS "waitsForStandby",
            current_setting('array_nulls') = 'on' AS "arrayNulls",
            current_setting('server_encoding') AS encoding,
            current_setting('server_encoding') = 'UTF8' AND lower('ÉßI') = 'éßi' AS "foldsCase"`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('Postgres said nothing of itself');
  return { ...row, ordersOtherwise: row.major >= collationsToldFrom && (await readOrdersOtherwise(database)) };
}

async function readOrdersOtherwise(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: { ordersOtherwise: boolean }[] }>(
    `SELECT datcollversion IS NOT NULL
            AND datcollversion IS DISTINCT FROM pg_database_collation_actual_version(oid) AS "ordersOtherwise"
     FROM pg_database WHERE datname = current_database()`,
  );
  return rows[0]?.ordersOtherwise === true;
}

/**
 * The database, as SQL names it, if Postgres compiles queries there that seem costly: that takes longer than most of
 * ours do. Asked apart from the rest, since before 11 it cannot be asked.
 */
export async function readCompilingDatabase(database: Database): Promise<string | undefined> {
  const { rows } = await database.raw<{ rows: { name: string }[] }>(
    `SELECT quote_ident(current_database()) AS name WHERE current_setting('jit') = 'on' AND pg_jit_available()`,
  );
  return rows[0]?.name;
}
