import { databaseAddress } from '../runtime/process-settings.js';
import { settingsOrExit } from '../runtime/settings.js';
import type { SettingsDeclaration } from '../runtime/settings.js';
import { isInfrastructureError } from './errors.js';
import { migrateDatabase } from './migrate-database.js';

/** The entry of `npm run migrate`. */
const settings = {
  DATABASE_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: databaseAddress,
    description: 'The Postgres database, as postgres://user:password@host:port/name.',
  },
} as const satisfies SettingsDeclaration;

/** EX_DATAERR of sysexits.h: this version is the wrong one for this database. */
const exitCodeNewerSchema = 65;
/** EX_UNAVAILABLE and EX_SOFTWARE of sysexits.h: a deployment tries again after the first, and looks after the second. */
const exitCodeUnavailable = 69;
const exitCodeFailed = 70;

const { DATABASE_URL: url } = settingsOrExit(settings, process.env);

try {
  const migrated = await migrateDatabase(url, (line) => process.stdout.write(`${line}\n`));
  if (!migrated.ok) {
    process.exitCode = exitCodeNewerSchema;
    process.stderr.write(`${migrated.problem}\n`);
  }
} catch (error) {
  const isAway = isInfrastructureError(error);
  process.exitCode = isAway ? exitCodeUnavailable : exitCodeFailed;
  // Messages of the driver name host and port, never the password.
  const reason = error instanceof AggregateError ? error.errors.map(String).join('; ') : String(error);
  process.stderr.write(`${isAway ? 'The database could not be reached' : 'The migration failed'}: ${reason}\n`);
}
