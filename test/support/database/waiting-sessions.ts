import type { Database } from '../../../shared/database/connect.js';
import { until } from '../time/until.js';

/** Resolves when so many sessions of the database wait for a lock of another. */
export function untilWaiting(database: Database, sessions: number): Promise<unknown> {
  return until(
    async () => {
      const { rows } = await database.raw<{ rows: object[] }>(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length === sessions;
    },
    { deadlineMs: 10_000, what: `${String(sessions)} to wait for another` },
  );
}
