import { cancelStatement } from './cancel-statement.js';
import type { Database } from './connect.js';
import { isDriverTimeout } from './errors.js';
import { connectionPool } from './raw-connection.js';

/**
 * Runs a statement that may meet a row that another session is changing, in a transaction of its own, which is READ
 * COMMITTED (`withSessions`). A statement without a transaction has the isolation that role or database are set to
 * (`default_transaction_isolation`), and in a stricter one it would fail instead of reading the row again (40001).
 *
 * @param options.lockMsMax how long it waits for a lock; by default as long as the session allows
 * @returns its rows
 * @throws the error of Postgres or of the pool; 55P03 where it waited too long for a lock (`isServerTimeout`)
 */
export async function runReadCommitted<Row extends object>(
  database: Database,
  sql: string,
  bindings: Record<string, unknown>,
  { lockMsMax }: { lockMsMax?: number } = {},
): Promise<Row[]> {
  let driverTimeout: unknown;
  const ask = async (transaction: Database) => {
    if (lockMsMax !== undefined) await transaction.raw(`SET LOCAL lock_timeout = ${lockMsMax}`);
    return transaction.raw<{ rows: unknown[] }>(sql, bindings).catch(async (error: unknown) => {
      if (isDriverTimeout(error)) {
        driverTimeout = error;
        // Otherwise it goes on waiting for its lock: what is tried again every minute would leave a session each time.
        cancelStatement(await connectionPool(transaction).acquireConnection());
      }
      throw error;
    });
  };
  try {
    const answer = await database.transaction(ask);
    return answer.rows as Row[];
  } catch (error) {
    // Knex throws the error of its ROLLBACK, which has no connection any more.
    throw driverTimeout ?? error;
  }
}
