import { connectDatabase } from './connect.js';

/**
 * Brings a database to the newest schema, through Knex, which locks so that two at once do no harm.
 *
 * @param say told each migration that was run, a line each
 */
export async function migrateDatabase(url: string, say: (line: string) => void): Promise<void> {
  const database = connectDatabase({ url, poolMax: 1, applicationName: 'raw-materials-migrate' });
  try {
    const [, names] = (await database.migrate.latest()) as [number, string[]];
    say(names.length === 0 ? 'The schema is up to date.' : `Migrated: ${names.join(', ')}.`);
  } finally {
    await database.destroy();
  }
}
