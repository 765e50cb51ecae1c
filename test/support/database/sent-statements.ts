import pg from 'pg';
import type { QueryConfig } from 'pg';
import type { Database } from '../../../shared/database/connect.js';
import { connectionPool } from '../../../shared/database/raw-connection.js';
import type { RawConnection } from '../../../shared/database/raw-connection.js';

/**
 * What goes to Postgres over a pool while `use` runs, in order, through Knex and past it; without plain commands, which
 * have no values and no plan (`DISCARD PLANS`).
 */
export async function sentDuring(database: Database, use: () => Promise<unknown>): Promise<QueryConfig[]> {
  const pool = connectionPool(database);
  const acquire = pool.acquireConnection;
  const watched = new Set<RawConnection>();
  const sent: QueryConfig[] = [];
  pool.acquireConnection = async () => {
    const connection = await acquire.call(pool);
    if (watched.has(connection)) return connection;
    watched.add(connection);
    const send = connection.query.bind(connection) as (...given: unknown[]) => unknown;
    const query = (...given: [QueryConfig | string]): unknown => {
      if (typeof given[0] !== 'string') sent.push(given[0]);
      return send(...given);
    };
    return Object.assign(connection, { query });
  };
  try {
    await use();
  } finally {
    pool.acquireConnection = acquire;
    for (const connection of watched) Reflect.deleteProperty(connection, 'query');
  }
  return sent;
}

export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/**
 * How Postgres goes about a statement: if it has a name, by the plan that is kept, whatever the values; if not, by the
 * plan for its values.
 */
export async function planOf(
  database: Database,
  { name, text, values = [] }: QueryConfig,
  { isRun = false }: { isRun?: boolean } = {},
): Promise<PlanNode> {
  const mode = name === undefined ? 'force_custom_plan' : 'force_generic_plan';
  const given = values.length === 0 ? '' : `(${values.map(literalOf).join(', ')})`;
  const statements = [
    'BEGIN',
    `SET LOCAL plan_cache_mode = ${mode}`,
    `PREPARE explained AS ${text}`,
    `EXPLAIN (${isRun ? 'ANALYZE, BUFFERS, ' : ''}FORMAT JSON) EXECUTE explained${given}`,
    'DEALLOCATE explained',
    'COMMIT',
  ];
  const pool = connectionPool(database);
  const connection = await pool.acquireConnection();
  try {
    const answers: unknown[] = [];
    for (const statement of statements) answers.push((await connection.query<object>(statement)).rows[0]);
    return (answers[3] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan;
  } catch (error) {
    connection.__knex__disposed = error;
    throw error;
  } finally {
    await pool.releaseConnection(connection);
  }
}

/**
 * The rows of tables that Postgres looks at for a plan that was run, each as often as it does, and also where it throws
 * them away.
 *
 * @param table those of this table alone
 */
export function rowsLookedAt(node: PlanNode, table?: string): number {
  const isRead =
    table === undefined
      ? node['Relation Name'] !== undefined || node['Index Name'] !== undefined
      : node['Relation Name'] === table;
  const own = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 0);
  return (node.Plans ?? []).reduce((sum, below) => sum + rowsLookedAt(below, table), isRead ? own : 0);
}

function literalOf(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((item) => JSON.stringify(item)).join(',')}}`);
  return pg.escapeLiteral(typeof value === 'string' ? value : JSON.stringify(value));
}
