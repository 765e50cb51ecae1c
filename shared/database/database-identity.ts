import type { Database } from './connect.js';
import { codeOf } from './errors.js';

/**
 * Which database this is, to compare it with that of another process: the number that a Postgres cluster gets when it
 * is made, and the number of the database in it. A standby that takes over has the same, and so has every copy of the
 * files; a database that was restored from a dump has its own.
 *
 * @returns undefined if it cannot be known: the role may not ask, or this Postgres, as built by a hoster, does not tell
 * @throws what may pass by itself, so that a caller does not forget an identity that it knows
 */
export async function readDatabaseIdentity(database: Database): Promise<string | undefined> {
  try {
    const { rows } = await database.raw<{ rows: { identity: string }[] }>(
      `SELECT system_identifier || '.' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS identity
       FROM pg_control_system()`,
    );
    return rows[0]?.identity;
  } catch (error) {
    if (neverTold.has(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** SQLSTATE: no privilege, no such function, not supported. */
const neverTold = new Set(['42501', '42883', '0A000']);

/** Postgres logs each refusal as an error, with its statement. */
const againMs = 60_000;

/** What is known of a process's database, which is asked again and again: there may be another at its address. */
export interface KnownDatabase {
  /** As it was last read; undefined while it is unknown. */
  identity(): string | undefined;
  /**
   * Reads it anew. If it could not be known, it is not asked for a minute.
   *
   * @throws as `readDatabaseIdentity`
   */
  ask(): Promise<void>;
}

/** @param nowMs a monotonic clock */
export function createKnownDatabase(database: Database, nowMs: () => number = () => performance.now()): KnownDatabase {
  let known: string | undefined;
  let nextAtMs = -Infinity;
  return {
    identity: () => known,
    async ask() {
      if (nowMs() < nextAtMs) return;
      known = await readDatabaseIdentity(database);
      if (known === undefined) nextAtMs = nowMs() + againMs;
    },
  };
}
