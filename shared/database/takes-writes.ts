import type { Database } from './connect.js';
import { createIdentityQuestion } from './database-identity.js';
import { assertMigrated } from './schema-state.js';

/** A commit waits for a synchronous standby for milliseconds, if it is there. */
const standbySecondsMax = 3;

/** A condition: whether commits wait for a synchronous standby that is away. */
export const waitsForStandby = `EXISTS (
  SELECT 1 FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND state_change < statement_timestamp() - interval '${standbySecondsMax} seconds')`;

/**
 * Asks whether a transaction that is begun now could write, and commit. A server in recovery, or a role or database
 * that was set to read-only (as hosters do when the disk is nearly full), answers every question, and refuses every
 * write. One whose synchronous standby is missing takes every write and lets no commit return; whoever gave it up left
 * its session there, which goes on waiting. Without a look at those, each transaction would leave another, until
 * Postgres had no connection left for reads either.
 *
 * @throws where it could not, with the code of such a refusal, or where the database does not answer
 */
export async function assertTakesWrites(database: Database): Promise<void> {
  const { rows } = await database.raw<{ rows: { readOnly: string; waitsForStandby: boolean }[] }>(
    `SELECT current_setting('transaction_read_only') AS "readOnly", ${waitsForStandby} AS "waitsForStandby"`,
  );
  const [answer] = rows;
  if (answer?.readOnly === 'on') {
    throw refusal('Postgres is read-only: in recovery, or by default_transaction_read_only');
  }
  if (answer?.waitsForStandby === true) {
    throw refusal('Commits of Postgres wait for a synchronous standby that is away (synchronous_standby_names)');
  }
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: '25006' });
}

/**
 * Makes a question to be asked again and again: `assertTakesWrites`, and whether this version's schema is there. That
 * is asked until it is, and again after a failure: by then there may be another database, as one being restored. Its
 * answer is which database it is (`createIdentityQuestion`).
 */
export function createWriteQuestion(database: Database): () => Promise<string | undefined> {
  const askIdentity = createIdentityQuestion(database);
  let isMigrated = false;
  return async () => {
    const wasMigrated = isMigrated;
    isMigrated = false;
    await assertTakesWrites(database);
    if (!wasMigrated) await assertMigrated(database);
    isMigrated = true;
    return askIdentity();
  };
}
