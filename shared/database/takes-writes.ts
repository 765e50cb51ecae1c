import type { Database } from './connect.js';
import { readDatabaseIdentity } from './database-identity.js';
import { assertMigrated } from './schema-state.js';

/**
 * Asks whether a transaction that is begun now could write. A server in recovery, or a role or database that was set to
 * read-only (as hosters do when the disk is nearly full), answers every question, and refuses every write.
 *
 * @throws where it could not, with the code of such a refusal, or where the database does not answer
 */
export async function assertTakesWrites(database: Database): Promise<void> {
  const { rows } = await database.raw<{ rows: { readOnly: string }[] }>(
    `SELECT current_setting('transaction_read_only') AS "readOnly"`,
  );
  if (rows[0]?.readOnly !== 'on') return;
  throw Object.assign(new Error('Postgres is read-only: in recovery, or by default_transaction_read_only'), {
    code: '25006',
  });
}

/**
 * Makes a question to be asked again and again: `assertTakesWrites`, and whether this version's schema is there. That
 * is asked until it is, and again after a failure: by then there may be another database, as one being restored. Its
 * answer is which database it is (`readDatabaseIdentity`).
 */
export function createWriteQuestion(database: Database): () => Promise<string | undefined> {
  let isMigrated = false;
  return async () => {
    const wasMigrated = isMigrated;
    isMigrated = false;
    await assertTakesWrites(database);
    if (!wasMigrated) await assertMigrated(database);
    isMigrated = true;
    return readDatabaseIdentity(database);
  };
}
