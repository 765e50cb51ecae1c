import type { Database } from './connect.js';

const bounds = ['idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout'];

/**
 * Lifts the timeouts of a transaction, whatever the server's settings: for the rest of it Postgres ends neither its
 * session, while it is idle or because it is long, nor a statement of it.
 */
export async function liftTimeouts(transaction: Database): Promise<void> {
  await unset(transaction, bounds);
}

/** Likewise, and lets it wait for its locks, however long. */
export async function liftTimeoutsAndLockTimeout(transaction: Database): Promise<void> {
  await unset(transaction, [...bounds, 'lock_timeout']);
}

/**
 * Reads with a statement that may take long, in a transaction of its own whose timeouts are lifted.
 *
 * @returns its rows
 */
export async function readWithoutTimeout<Row extends object>(
  database: Database,
  sql: string,
  bindings: Record<string, unknown>,
): Promise<Row[]> {
  return database.transaction(async (transaction) => {
    await liftTimeouts(transaction);
    const { rows } = await transaction.raw<{ rows: unknown[] }>(sql, bindings);
    return rows as Row[];
  });
}

/** Those that this version of Postgres has. */
async function unset(transaction: Database, names: string[]): Promise<void> {
  await transaction.raw(`SELECT set_config(name, '0', true) FROM pg_settings WHERE name = ANY (:names)`, { names });
}
