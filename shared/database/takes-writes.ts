import type { Database } from './connect.js';
import { createKnownDatabase } from './database-identity.js';
import { readOnlyState } from './errors.js';
import { connectionPool } from './raw-connection.js';
import { assertMigrated } from './schema-state.js';

/** While a synchronous standby is there, a commit waits for it for milliseconds. */
const standbySecondsMax = 3;

/** A condition: whether commits wait for a synchronous standby that is away. */
export const waitsForStandby = `EXISTS (
  SELECT 1 FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND state_change < statement_timestamp() - interval '${standbySecondsMax} seconds')`;

/**
 * Asks whether a transaction that begins now could write and commit. A server in recovery, or a role or database that
 * is set to read-only (as hosters do when the disk is nearly full), answers reads and refuses writes. A server whose
 * synchronous standby is missing takes writes, but no commit returns, and its session goes on waiting even when the
 * client has given up. If we did not look for such sessions, each transaction would leave one more, until Postgres had
 * no connection left for reads either.
 *
 * A session that is read-only stays so when the address has moved on to another server, or the setting was taken back.
 * It is given up, so that the next question is asked in a new one.
 *
 * @throws with the code of a read-only server (25006) if it could not; what the driver says if the database is away
 */
export async function assertTakesWrites(database: Database): Promise<void> {
  const { rows } = await database.raw<{ rows: { readOnly: string; waitsForStandby: boolean }[] }>(
    `SELECT current_setting('transaction_read_only') AS "readOnly", ${waitsForStandby} AS "waitsForStandby"`,
  );
  const [answer] = rows;
  if (answer?.readOnly === 'on') {
    await giveUpSession(database);
    throw refusal('Postgres is read-only: in recovery, or by default_transaction_read_only');
  }
  if (answer?.waitsForStandby === true) {
    throw refusal('Commits of Postgres wait for a synchronous standby that is away (synchronous_standby_names)');
  }
}

/** Ends the session that was last used: the pool gives it out first. */
async function giveUpSession(database: Database): Promise<void> {
  const pool = connectionPool(database);
  const connection = await pool.acquireConnection();
  connection.__knex__disposed = true;
  await pool.releaseConnection(connection);
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: readOnlyState });
}

/**
 * Returns a question to be asked again and again: `assertTakesWrites`, and `assertMigrated`. The latter is asked until
 * it holds, and again after a failure, because then there may be another database, such as one being restored.
 */
export function createWriteQuestion(database: Database): () => Promise<void> {
  let isMigrated = false;
  return async () => {
    const wasMigrated = isMigrated;
    isMigrated = false;
    await assertTakesWrites(database);
    if (!wasMigrated) await assertMigrated(database);
    isMigrated = true;
  };
}

/**
 * As `createWriteQuestion`, for one who also wants to know which database it is.
 *
 * @returns resolves to its identity, if that is known (`createKnownDatabase`)
 */
export function createStorageQuestion(database: Database): () => Promise<string | undefined> {
  const askWrites = createWriteQuestion(database);
  const known = createKnownDatabase(database);
  return async () => {
    await askWrites();
    await known.ask();
    return known.identity();
  };
}
