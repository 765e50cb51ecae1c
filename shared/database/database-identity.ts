import type { Database } from './connect.js';

/**
 * Which database this is, to compare with what another process says of its own: the number that a Postgres cluster gets
 * when it is made, and that of the database in it. A standby that takes over has them too, and so has any other copy of
 * the files; one that was restored from a dump has its own.
 *
 * @returns undefined for a role that may not ask
 */
export async function readDatabaseIdentity(database: Database): Promise<string | undefined> {
  try {
    const { rows } = await database.raw<{ rows: { identity: string }[] }>(
      `SELECT system_identifier || '.' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS identity
       FROM pg_control_system()`,
    );
    return rows[0]?.identity;
  } catch (error) {
    if ((error as { code?: string }).code === insufficientPrivilege) return undefined;
    throw error;
  }
}

const insufficientPrivilege = '42501';

/** What a process knows of its database without a question: what it was told last. */
export interface KnownDatabase {
  now(): string | undefined;
  ask(): Promise<void>;
}

export function createKnownDatabase(database: Database): KnownDatabase {
  let known: string | undefined;
  return {
    now: () => known,
    async ask() {
      known = await readDatabaseIdentity(database);
    },
  };
}
