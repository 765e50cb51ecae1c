import type { Database } from '../../shared/database/connect.js';

/**
 * The same database, except that its transactions have no time limits of their own: where the test's process stands
 * still, they hold locks, and wait for others', for longer than that.
 */
export function withoutTimeouts(database: Database): Database {
  const transaction = (work: (transaction: Database) => Promise<unknown>) =>
    database.transaction((own) => work(withoutSettings(own)));
  return Object.create(database, { transaction: { value: transaction } }) as Database;
}

function withoutSettings(transaction: Database): Database {
  const raw = (sql: string, bindings: readonly string[] = []) =>
    sql.includes(`set_config('statement_timeout'`) ? Promise.resolve() : transaction.raw(sql, bindings);
  return Object.create(transaction, { raw: { value: raw } }) as Database;
}
