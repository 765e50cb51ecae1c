import { execute } from '../support/database/execute.js';

/** Rows a statement, so that none holds the disk's log for minutes. */
const rowsAStatement = 500_000;

/**
 * Operations and ledger rows as a year's work leaves them: at each level bookings of one unit, each with its
 * operation; levels and totals follow. Set-based.
 *
 * @param count of the rows in each of the two tables; rounded up to whole rounds over the levels
 */
export async function fillHistory(url: string, count: number, say: (line: string) => void): Promise<void> {
  const rows = await execute(url, 'SELECT count(*)::int AS levels FROM levels');
  const { levels } = rows[0] as { levels: number };
  const rounds = Math.max(1, Math.ceil(count / levels));
  const roundsAStatement = Math.max(1, Math.floor(rowsAStatement / levels));
  for (let done = 0; done < rounds; done += roundsAStatement) {
    const more = Math.min(roundsAStatement, rounds - done);
    await execute(url, addBookings(more));
    say(`  ${(done + more) * levels} of ${rounds * levels} bookings are there`);
  }
  // Done now, as on a server that has run for a while; autovacuum would do it in the middle of the first window.
  await execute(url, 'VACUUM (ANALYZE) operations');
  await execute(url, 'VACUUM (ANALYZE) ledger');
  await execute(url, 'VACUUM (ANALYZE) levels');
  await execute(url, 'VACUUM (ANALYZE) stock');
}

/** One statement: so many bookings of one unit at each level, yesterday. */
function addBookings(rounds: number): string {
  return `
    WITH booking AS MATERIALIZED (
      SELECT levels.shop_id, levels.material_id, levels.id AS level_id, levels.sequence + round AS sequence,
             levels.quantity + round - 1 AS previous, uuidv7(interval '-1 day') AS op_id
      FROM generate_series(1, ${rounds}) AS round CROSS JOIN levels
    ), booked AS (
      INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_delta, previous, applied, level_after,
                          clamped, at, channel, key_id, request_id)
      SELECT shop_id, level_id, sequence, op_id, 0, 1, previous, 1, previous + 1,
             false, now() - interval '1 day', 'rest', NULL, op_id
      FROM booking
    ), raised AS (
      UPDATE levels SET quantity = quantity + ${rounds}, sequence = sequence + ${rounds}
    ), totalled AS (
      UPDATE stock SET total_quantity = total_quantity + ${rounds} * (
        SELECT count(*) FROM levels WHERE levels.shop_id = stock.shop_id AND levels.material_id = stock.material_id
      )
    )
    INSERT INTO operations (op_id, shop_id, material_id, status, result, recorded_at)
    SELECT op_id, shop_id, material_id, 'executed', (${anyResult}), now() - interval '1 day' FROM booking`;
}

/** Operations that nobody can ask for any more, as a worker's pruning finds them (pipeline §3). */
export async function addOldOperations(url: string, count: number): Promise<void> {
  await execute(
    url,
    `INSERT INTO operations (op_id, shop_id, material_id, status, result, recorded_at)
     SELECT uuidv7(interval '-3 days'), stock.shop_id, stock.material_id, 'executed', (${anyResult}), now() - interval '3 days'
     FROM stock CROSS JOIN generate_series(1, (SELECT ceil(${count}.0 / count(*))::int FROM stock)) LIMIT ${count}`,
  );
}

/** How many of those are left. */
export async function countOldOperations(url: string): Promise<number> {
  const rows = await execute(
    url,
    `SELECT count(*)::int AS count FROM operations WHERE op_id < uuidv7(interval '-49 hours')`,
  );
  return (rows[0] as { count: number }).count;
}

/** What the service itself has recorded for a change of one row. */
const anyResult = `SELECT result FROM operations WHERE status = 'executed' AND result IS NOT NULL ORDER BY length(result::text) LIMIT 1`;
