import type { Database } from './connect.js';

/**
 * Lets a transaction last, whatever the server's settings: for the rest of it Postgres ends its session neither while
 * it is idle nor because it is long.
 */
export async function letLast(transaction: Database): Promise<void> {
  await transaction.raw(
    `SELECT set_config(name, '0', true) FROM pg_settings
     WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')`,
  );
}
