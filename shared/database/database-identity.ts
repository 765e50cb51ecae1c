import type { Database } from './connect.js';

/**
 * Which database this is, to compare with what another process says of its own: the number that a Postgres cluster gets
 * when it is made, and that of the database in it. A standby that takes over has them too, and so has any other copy of
 * the files; one that was restored from a dump has its own.
 *
 * @returns undefined where it is not to be had: the role may not ask, or this Postgres, as a hoster has built it, does not
 * tell. Whatever may pass by itself is thrown, so that nobody forgets what is known.
 */
export async function readDatabaseIdentity(database: Database): Promise<string | undefined> {
  try {
    const { rows } = await database.raw<{ rows: { identity: string }[] }>(
      `SELECT system_identifier || '.' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS identity
       FROM pg_control_system()`,
    );
    return rows[0]?.identity;
  } catch (error) {
    if (neverTold.has((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

/** SQLSTATE: no privilege, no such function, not supported. */
const neverTold = new Set(['42501', '42883', '0A000']);

/** For who asks every second: where it is not told, Postgres logs each question as an error, statement and all. */
const againMs = 60_000;

/**
 * Makes a question to be asked again and again: `readDatabaseIdentity`, but for a minute after one that was not
 * answered, which the next ones would not be either.
 *
 * @param nowMs a monotonic clock
 */
export function createIdentityQuestion(
  database: Database,
  nowMs: () => number = () => performance.now(),
): () => Promise<string | undefined> {
  let nextAtMs = -Infinity;
  return async () => {
    if (nowMs() < nextAtMs) return undefined;
    const identity = await readDatabaseIdentity(database);
    if (identity === undefined) nextAtMs = nowMs() + againMs;
    return identity;
  };
}

/** What a process knows of its database without a question: what it was told last. */
export interface KnownDatabase {
  now(): string | undefined;
  ask(): Promise<void>;
}

export function createKnownDatabase(database: Database): KnownDatabase {
  const askIdentity = createIdentityQuestion(database);
  let known: string | undefined;
  return {
    now: () => known,
    async ask() {
      known = await askIdentity();
    },
  };
}
