import { connectDatabase } from './connect.js';

/** Any number that no one else in the database uses. */
const lockNumber = 7_261_977;

/**
 * Brings a database to the newest schema, through Knex. One at a time: Knex' own lock is a table, and of three at once
 * on an empty database one failed to make it. The lock lasts for a transaction, so that a pooler does not lose it.
 *
 * @param say told each migration that was run, a line each
 */
export async function migrateDatabase(url: string, say: (line: string) => void): Promise<void> {
  const database = connectDatabase({ url, poolMax: 2, applicationName: 'raw-materials-migrate' });
  try {
    const names = await database.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [lockNumber]);
      const [, done] = (await database.migrate.latest()) as [number, string[]];
      return done;
    });
    say(names.length === 0 ? 'The schema is up to date.' : `Migrated: ${names.join(', ')}.`);
  } finally {
    await database.destroy();
  }
}
