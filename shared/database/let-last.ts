import type { Database } from './connect.js';

const bounds = ['idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout'];

/**
 * Lets a transaction last, whatever the server's settings: for the rest of it Postgres ends neither its session, while
 * it is idle or because it is long, nor a statement of it.
 */
export async function letLast(transaction: Database): Promise<void> {
  await unset(transaction, bounds);
}

/** Likewise, and lets it wait for its locks. */
export async function letLastAndWait(transaction: Database): Promise<void> {
  await unset(transaction, [...bounds, 'lock_timeout']);
}

/** Those that this version of Postgres has. */
async function unset(transaction: Database, names: string[]): Promise<void> {
  await transaction.raw(`SELECT set_config(name, '0', true) FROM pg_settings WHERE name = ANY (:names)`, { names });
}
