import { connectDatabase } from './connect.js';
import { elsewhereProblem, newerSchemaProblem, readSchemaState } from './schema-state.js';

/** Any number that no one else in the database uses. */
const lockNumber = 7_261_977;

/**
 * Brings a database to the newest schema, through Knex, one process at a time. Knex' own lock is a table: of three at
 * once on an empty database, one failed to make it. Ours lasts for a transaction, so that a pooler does not lose it.
 *
 * A database that a newer version has migrated is left as it is. Knex would refuse it as well, but would call the
 * folder of migrations "corrupt".
 *
 * @param say told each migration that was run, a line each
 * @returns a problem, for a person, where the schema is newer than this version, or new tables would come into another
 */
export async function migrateDatabase(
  url: string,
  say: (line: string) => void,
): Promise<{ ok: true } | { ok: false; problem: string }> {
  const database = connectDatabase({ url, poolMax: 2, applicationName: 'raw-materials-migrate' });
  try {
    return await database.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [lockNumber]);
      const { pending, unknown, elsewhere } = await readSchemaState(lock);
      if (unknown.length > 0) return { ok: false, problem: newerSchemaProblem(unknown) };
      if (pending.length === 0) {
        say('The schema is up to date.');
        return { ok: true };
      }
      // Knex looks for its table where new ones come, and would make everything once more there.
      if (elsewhere !== undefined) return { ok: false, problem: elsewhereProblem(elsewhere) };
      const [, done] = (await database.migrate.latest()) as [number, string[]];
      say(`Migrated: ${done.join(', ')}.`);
      return { ok: true };
    });
  } finally {
    await database.destroy();
  }
}
