import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase } from './connect.js';
import type { Database } from './connect.js';
import { codeOf } from './errors.js';
import { liftTimeouts, liftTimeoutsAndLockTimeout } from './lift-timeouts.js';
import { elsewhereProblem, newerSchemaProblem, readSchemaState } from './schema-state.js';
import { readServerFacts } from './server-facts.js';

/** Any number that no one else in the database uses. */
const lockNumber = 7_261_977;

/**
 * Brings a database to the newest schema, through Knex, one process at a time. Knex' own lock is a table: of three
 * processes on an empty database one failed to create it. Ours is an advisory lock of a transaction, so it also holds
 * behind a pooler.
 *
 * A database that a newer version has migrated is left as it is. Knex would refuse it as well, but would call the
 * migrations "corrupt".
 *
 * @param say told what it waits for, and which migrations were run, a line each
 * @returns a problem, for a person, where the schema is newer than this version, or new tables would come into another
 */
export async function migrateDatabase(
  url: string,
  say: (line: string) => void,
): Promise<{ ok: true } | { ok: false; problem: string }> {
  return withDatabase({ url, poolMax: 2, applicationName: 'raw-materials-migrate' }, (database) =>
    database.transaction(async (lock) => {
      // It waits for others; then it is idle while the migrations run, or wait for a table, and would lose the lock.
      await liftTimeoutsAndLockTimeout(lock);
      await takeTurn(lock, say);
      const state = await readSchemaState(lock);
      const { pending, unknown, elsewhere } = state;
      if (unknown.length > 0) return { ok: false, problem: newerSchemaProblem(state) };
      if (pending.length === 0) {
        say('The schema is up to date.');
        return { ok: true };
      }
      // Knex looks for its table where new ones come, and would make everything once more there.
      if (elsewhere !== undefined) return { ok: false, problem: elsewhereProblem(elsewhere) };
      const done = await migrate(database, pending, say);
      // None, where a killed migration came to its end while this one waited for it.
      say(done.length > 0 ? `Migrated: ${done.join(', ')}.` : 'The schema is up to date.');
      // While nothing is in it, another can still be made.
      const { foldsCase } = await readServerFacts(lock);
      if (!foldsCase) say('Texts are searched and sorted wrongly here: see npm run doctor.');
      return { ok: true };
    }),
  );
}

async function takeTurn(lock: Database, say: (line: string) => void): Promise<void> {
  const { rows } = await lock.raw<{ rows: { granted: boolean }[] }>('SELECT pg_try_advisory_xact_lock(?) AS granted', [
    lockNumber,
  ]);
  if (rows[0]?.granted === true) return;
  say('Another process is migrating; waiting for it.');
  await lock.raw('SELECT pg_advisory_xact_lock(?)', [lockNumber]);
}

/** SQLSTATE of a lock that was not granted in time, and of a deadlock: its holder waits for a lock of ours. */
const lockFaults = new Set(['55P03', '40P01']);
const lockMsMax = 2_000;
const againMs = 3_000;

/**
 * Runs what is pending, each migration in a transaction of its own: in one for all, a table that is locked for a moment
 * would be kept until the last one is through. It waits at most two seconds for each lock; then it rolls back, lets the
 * others go first, and begins that migration again. For all who come after a statement that waits for a table wait
 * behind it: beside a `pg_dump`, which holds every table to its end, nothing could be read or written until then.
 *
 * @returns the names of what was run; where one fails, `say` is told of those before it
 */
async function migrate(database: Database, pending: string[], say: (line: string) => void): Promise<string[]> {
  const done: string[] = [];
  let isTold = false;
  for (const name of pending) {
    const giveWay = () => {
      if (!isTold) say('A table is in use, by an import or a pg_dump perhaps; waiting, and letting others go first.');
      isTold = true;
    };
    try {
      done.push(...(await runMigration(database, name, giveWay)));
    } catch (error) {
      if (done.length > 0) say(`Migrated: ${done.join(', ')}.`);
      throw error;
    }
  }
  return done;
}

/** @returns its name, or nothing where somebody else has run it meanwhile */
async function runMigration(database: Database, name: string, giveWay: () => void): Promise<string[]> {
  for (;;) {
    try {
      await database.transaction(awaitKnexRow);
      const [, done] = (await database.migrate.up({ name, beforeAll: boundLocksAlone })) as [number, string[]];
      return done;
    } catch (error) {
      if (!lockFaults.has(codeOf(error) ?? '')) throw error;
      giveWay();
      await sleep(againMs);
    }
  }
}

async function boundLocksAlone(transaction: Database): Promise<void> {
  await liftTimeouts(transaction);
  await transaction.raw(`SET LOCAL lock_timeout = ${lockMsMax}`);
}

/**
 * Waits for the row that Knex locks before it does anything. A migration that was killed keeps it until Postgres is
 * through with its statement. Knex would wait for it without a word, or fail after the server's `lock_timeout`.
 *
 * @throws 55P03 after as long as for any other lock
 */
async function awaitKnexRow(transaction: Database): Promise<void> {
  await boundLocksAlone(transaction);
  const { rows } = await transaction.raw<{ rows: { found: boolean }[] }>(
    `SELECT to_regclass('knex_migrations_lock') IS NOT NULL AS found`,
  );
  // An empty database has no such table yet.
  if (rows[0]?.found === true) await transaction.raw('SELECT 1 FROM knex_migrations_lock FOR UPDATE');
}
