import type { Database } from './connect.js';
import { codeOf } from './errors.js';
import { migrationSource } from './migration-source.js';

/** How the schema of a database compares with this version of the service; both lists are empty if they match. */
export interface SchemaState {
  /** Migrations of this version that the database does not have yet. */
  pending: string[];
  /** Migrations of the database that this version does not know: a newer one has been here. */
  unknown: string[];
  /** The schema that the tables are in, and the one that new tables would go into, if they differ (`search_path`). */
  elsewhere?: { found: string; wanted: string };
}

/** Reads and changes nothing; on a database without any schema everything is pending. */
export async function readSchemaState(database: Database): Promise<SchemaState> {
  const {
    rows: [place],
  } = await database.raw<{ rows: { found: string; wanted: string }[] }>(
    `SELECT CAST(relnamespace AS regnamespace)::text AS found, current_schema() AS wanted
     FROM pg_class WHERE oid = to_regclass('knex_migrations')`,
  );
  const { rows: done } =
    place !== undefined
      ? await database.raw<{ rows: { name: string }[] }>('SELECT name FROM knex_migrations ORDER BY id')
      : { rows: [] };
  const ours = (await migrationSource.getMigrations([])).map(({ name }) => name);
  const theirs = done.map(({ name }) => name);
  return {
    pending: ours.filter((name) => !theirs.includes(name)),
    unknown: theirs.filter((name) => !ours.includes(name)),
    ...(place !== undefined && place.found !== place.wanted ? { elsewhere: place } : {}),
  };
}

/** @throws if migrations of this version are missing, with what to do; further ones are fine, because they only add */
export async function assertMigrated(database: Database): Promise<void> {
  const { pending } = await readSchemaState(database);
  if (pending.length === 0) return;
  const what = pending.length === 1 ? 'a migration' : `${pending.length} migrations`;
  throw new Error(`The database lacks ${what} of this version, ${pending[0] ?? ''} first. Run: npm run migrate`);
}

/** No such table, column, function. */
const missingParts = new Set(['42P01', '42703', '42883']);

/** Whether a statement met no schema, or an older one than it is made for. */
export function isMissingSchema(error: unknown): boolean {
  return missingParts.has(codeOf(error) ?? '');
}

/** What an operator is told of a schema that is newer than this version, or of another branch. */
export function newerSchemaProblem({ pending, unknown }: SchemaState): string {
  const [they, these] = [unknown, pending].map((names) => names.join(', '));
  return (
    `This version is older than the schema of the database, which has ${they}. Nothing was changed.\n` +
    (pending.length === 0
      ? 'Run migrate from the version that brought it. To go back to this version, start its processes without ' +
        'migrating: they run beside a migration that only adds.'
      : `Nor does the database have ${these}, without which processes of this version write nothing. Run migrate from ` +
        'a version that has all of these.')
  );
}

/** What an operator is told if new tables would be made in another schema than the existing ones. */
export function elsewhereProblem({ found, wanted }: { found: string; wanted: string }): string {
  return (
    `The tables are in the schema ${found}, and new ones would come into ${wanted}. Nothing was changed.\n` +
    'Let search_path begin with theirs: see ALTER ROLE and ALTER DATABASE.'
  );
}
