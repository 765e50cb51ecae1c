import { isDiskFull, isServerTimeout, isTransient, reasonWithoutStatement } from '../database/errors.js';
import { migrateDatabase } from '../database/migrate-database.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { cannotUseFolder, isFileFault } from './data-folder.js';
import { seedDemo } from './demo-data.js';
import type { DemoAccess, DemoOptions } from './demo-data.js';
import { checkGivenPostgres } from './given-postgres.js';

/** @param isGiven whether the database is somebody else's, who is then told what to mend in it */
export async function migrate(
  databaseUrl: string,
  isGiven: boolean,
  say: (line: string) => void,
): Promise<Outcome<void>> {
  try {
    const migrated = await migrateDatabase(databaseUrl, (line) => say(`Schema: ${line}`));
    return migrated.ok ? { ok: true, value: undefined } : migrated;
  } catch (error) {
    const found = isGiven ? await checkGivenPostgres(databaseUrl) : undefined;
    if (found?.verdict === 'bad') return failed(found.text);
    return failed(`The database cannot be brought to the newest schema: ${reasonWithoutStatement(error)}.`);
  }
}

/**
 * @param isGiven as of `migrate`
 * @throws what neither Postgres nor the disk is to blame for
 */
export async function seed(options: DemoOptions, isGiven: boolean): Promise<Outcome<DemoAccess>> {
  try {
    return { ok: true, value: await seedDemo(options) };
  } catch (error) {
    if (isTransient(error)) {
      const reason = `The demo data cannot be written: ${reasonWithoutStatement(error)}.`;
      return failed([reason, ...(await remediesOf(error, options.databaseUrl, isGiven))].join('\n'));
    }
    if (isFileFault(error)) return cannotUseFolder(options.dataFolder, error);
    throw error;
  }
}

async function remediesOf(error: unknown, databaseUrl: string, isGiven: boolean): Promise<string[]> {
  const remedies: string[] = [];
  const found = isGiven ? await checkGivenPostgres(databaseUrl) : undefined;
  if (found?.verdict === 'bad') remedies.push(found.text);
  if (isServerTimeout(error)) {
    remedies.push(
      "Another session seems to hold rows of the demo's shops, or a table (npm run doctor names it): end it, then " +
        'start again.',
    );
  }
  if (isDiskFull(error)) remedies.push('Make room on its disk, then start again.');
  if (isGiven && remedies.length === 0) remedies.push('See npm run doctor, which looks at this database.');
  return remedies;
}
