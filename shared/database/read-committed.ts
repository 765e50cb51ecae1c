import type { Database } from './connect.js';

/**
 * Runs a statement that may meet a row that another session is changing, in a transaction of its own, which says READ
 * COMMITTED (`withSessions`). By itself it would run as role or database are set up (`default_transaction_isolation`),
 * and above READ COMMITTED it would not look at the row again, but fail (40001).
 *
 * @returns its rows
 * @throws the error of Postgres or of the pool
 */
export async function runReadCommitted<Row extends object>(
  database: Database,
  sql: string,
  bindings: Record<string, unknown>,
): Promise<Row[]> {
  const answer = await database.transaction(async (transaction) => transaction.raw<{ rows: unknown[] }>(sql, bindings));
  return answer.rows as Row[];
}
