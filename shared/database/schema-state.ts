import type { Database } from './connect.js';
import { migrationSource } from './migration-source.js';

/** How the schema of a database stands to this version of the service; both empty where they fit. */
export interface SchemaState {
  /** Migrations of this version that the database does not have yet. */
  pending: string[];
  /** Migrations of the database that this version does not know: a newer one has been here. */
  unknown: string[];
}

/** Reads and changes nothing; on a database without any schema everything is pending. */
export async function readSchemaState(database: Database): Promise<SchemaState> {
  const { rows: found } = await database.raw<{ rows: { exists: boolean }[] }>(
    "SELECT to_regclass('knex_migrations') IS NOT NULL AS exists",
  );
  const { rows: done } =
    found[0]?.exists === true
      ? await database.raw<{ rows: { name: string }[] }>('SELECT name FROM knex_migrations ORDER BY id')
      : { rows: [] };
  const ours = (await migrationSource.getMigrations([])).map(({ name }) => name);
  const theirs = done.map(({ name }) => name);
  return {
    pending: ours.filter((name) => !theirs.includes(name)),
    unknown: theirs.filter((name) => !ours.includes(name)),
  };
}

/** What an operator is told of a schema that is newer than this version. */
export function newerSchemaProblem(unknown: readonly string[]): string {
  const names = unknown.join(', ');
  return (
    `This version is older than the schema of the database, which has ${names}. Nothing was changed.\n` +
    'Run migrate from the version that brought it. To go back to this version, start its processes without migrating: ' +
    'they run beside a migration that only adds.'
  );
}
