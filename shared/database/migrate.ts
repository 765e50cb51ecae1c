import { reasonOf } from '../domain/reason-of.js';
import { takeNoArguments } from '../runtime/command-help.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { databaseAddress } from '../runtime/process-settings.js';
import { settingsOrExit } from '../runtime/settings.js';
import type { SettingsDeclaration } from '../runtime/settings.js';
import { isTransient, outageSentence } from './errors.js';
import { migrateDatabase } from './migrate-database.js';

// The entry of `npm run migrate`.

const settings = {
  DATABASE_URL: {
    type: 'string',
    required: true,
    secret: true,
    check: databaseAddress,
    description: 'The Postgres database, as postgres://user:password@host:port/name.',
  },
} as const satisfies SettingsDeclaration;

takeNoArguments('npm run migrate', 'Brings the database to the schema of this version.', settings);
const { DATABASE_URL: url } = settingsOrExit(settings, process.env);

// A migration stands even if its output is lost (`| head`, a full disk): a deployment goes by the exit code.
process.stdout.on('error', () => undefined);

try {
  const migrated = await migrateDatabase(url, (line) => process.stdout.write(`${line}\n`));
  if (!migrated.ok) {
    process.exitCode = exitCodes.data;
    process.stderr.write(`${migrated.problem}\n`);
  }
} catch (error) {
  const isOutage = isTransient(error);
  process.exitCode = isOutage ? exitCodes.unavailable : exitCodes.fault;
  process.stderr.write(`${isOutage ? outageSentence(error) : `The migration failed: ${reasonOf(error)}`}\n`);
}
