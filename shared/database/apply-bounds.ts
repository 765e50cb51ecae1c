import type { QueryConfig } from 'pg';

// What the first message of the apply step sets for its transaction.

const statementTimeoutMs = 3_000;
/**
 * Rows that another session holds are skipped. A few locks are still waited for: a facet that somebody is creating, a
 * level's row, an operation that its API is recording. Another lane has these for milliseconds; a session that does not
 * end has them for longer than anybody waits. Each part of a transaction waits anew (`applyDivided`): with two seconds,
 * eight changes behind such a session took both lanes of a worker twenty seconds, and others were answered 503 and 504.
 * With a quarter of a second nobody was refused, and one cycle took two seconds.
 */
const lockTimeoutMs = 250;
export const idleInTransactionTimeoutMs = 2_000;

/** How long Postgres lets a transaction of the apply step stand still at most. Asserted to be below the lease. */
export const applyTimeoutMsMax = Math.max(statementTimeoutMs, lockTimeoutMs, idleInTransactionTimeoutMs);

/**
 * Several SET LOCAL in one statement; they end with the transaction, so a pooler in transaction mode can be used.
 * Without the last two, Postgres plans `unnest($1)` anew at every call (the read takes 0.39 ms instead of 0.15), and a
 * plan that was made on an empty table keeps its sequential scans when the table has grown (143 calls a second instead
 * of 1,636) (pipeline §1, §5).
 */
export const transactionBounds: QueryConfig = {
  name: 'apply-bounds',
  text: `SELECT set_config('statement_timeout', '${statementTimeoutMs}', true),
                set_config('lock_timeout', '${lockTimeoutMs}', true),
                set_config('idle_in_transaction_session_timeout', '${idleInTransactionTimeoutMs}', true),
                set_config('plan_cache_mode', 'force_generic_plan', true),
                set_config('enable_seqscan', 'off', true)`,
};
