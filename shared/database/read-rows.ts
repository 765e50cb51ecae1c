import { createHash } from 'node:crypto';
import { cancelStatement } from './cancel-statement.js';
import type { Database } from './connect.js';
import { isTransient, isPreparedStatementFault, isDriverTimeout } from './errors.js';
import { connectionPool } from './raw-connection.js';
import type { RawConnection } from './raw-connection.js';

/** Values by name, for each `:name` in the statement; names that it does not contain are ignored. */
export type Bindings = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>;

export interface ReadOptions {
  /**
   * Plans the statement anew for each call. For values that decide how the rows are best found, like a searched text.
   */
  planEachTime?: boolean;
}

/**
 * The rows that a statement reads. It is a prepared statement: Postgres parses it once a connection, and keeps its plan
 * for some seconds. To parse and plan it at each call was four fifths of reading a material (1.16 ms instead of 0.25),
 * and half of a list. Knex is not used: it costs the process up to half as much again, and has no prepared statements.
 *
 * @throws the error of Postgres or of the pool
 */
export async function readRows<Row extends object>(
  database: Database,
  sql: string,
  bindings: Bindings,
  { planEachTime = false }: ReadOptions = {},
): Promise<Row[]> {
  const pool = connectionPool(database);
  const connection = await pool.acquireConnection();
  try {
    const statement = planEachTime ? toStatement(sql) : keptStatement(connection, sql);
    const values = statement.keys.map((key) => valueOf(bindings, key));
    return await ask<Row>(connection, statement, values);
  } catch (error) {
    // Otherwise it keeps its Postgres session until it is done: behind a lock there were five more every five seconds.
    if (isDriverTimeout(error)) cancelStatement(connection);
    // A transient fault leaves a good connection, or one that the pool drops by itself (`isOpen`,
    // `giveUpWithSession`). After any other the next statement must not get this one, in case that is at fault.
    if (!isTransient(error)) connection.__knex__disposed = error;
    throw error;
  } finally {
    await pool.releaseConnection(connection);
  }
}

interface Statement {
  /** Absent where it is planned each time. */
  name?: string;
  text: string;
  /** The names of the bindings at $1, $2 and so on. */
  keys: readonly string[];
}

/**
 * Prepared statements of a connection. Each takes some 250 KB in Postgres, and a list has hundreds of shapes (sort,
 * direction, filters, size, what the shop has). The first ones are kept, and the others are planned at each call.
 */
const keptMax = 48;
/**
 * For how long plans are kept: their tables may have grown a thousandfold since, which only an ANALYZE tells Postgres.
 */
const planMsMax = 5_000;

interface Kept {
  statements: Map<string, Statement>;
  /** When the plans were last dropped. */
  droppedMs: number;
}

const keptOf = new WeakMap<RawConnection, Kept>();

function keptStatement(connection: RawConnection, sql: string): Statement {
  const { statements } = keptOn(connection);
  const known = statements.get(sql);
  if (known !== undefined) return known;
  const { text, keys } = toStatement(sql);
  if (statements.size >= keptMax) return { text, keys };
  // Named by its text: even if a pooler mixes up the statements of two clients, a name means the same to both.
  const name = `read-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  statements.set(sql, { name, text, keys });
  return { name, text, keys };
}

function keptOn(connection: RawConnection): Kept {
  const kept = keptOf.get(connection) ?? { statements: new Map<string, Statement>(), droppedMs: performance.now() };
  keptOf.set(connection, kept);
  return kept;
}

function toStatement(sql: string): Statement {
  const keys: string[] = [];
  const text = sql.replaceAll(/(?<!:):([a-z]\w*)/gi, (_, key: string) => {
    if (!keys.includes(key)) keys.push(key);
    return `$${keys.indexOf(key) + 1}`;
  });
  return { text, keys };
}

function valueOf(bindings: Bindings, key: string): unknown {
  const value = bindings[key];
  if (value === undefined) throw new Error(`a statement has no value for :${key}`);
  return value;
}

async function ask<Row extends object>(
  connection: RawConnection,
  statement: Statement,
  values: unknown[],
): Promise<Row[]> {
  const { name, text } = statement;
  if (name === undefined) return (await connection.query<Row>({ text, values })).rows;
  try {
    // Sent one behind the other, without waiting in between.
    const dropped = dropOldPlans(connection);
    const read = connection.query<Row>({ name, text, values });
    const [{ rows }] = await Promise.all([read, dropped]);
    return rows;
  } catch (error) {
    if (!isPreparedStatementFault(error)) throw error;
    // Again, without the name. The other names that this connection knows may be lost as well.
    connection.__knex__disposed = error;
    return (await connection.query<Row>({ text, values })).rows;
  }
}

async function dropOldPlans(connection: RawConnection): Promise<void> {
  const kept = keptOn(connection);
  const nowMs = performance.now();
  if (nowMs - kept.droppedMs < planMsMax) return;
  kept.droppedMs = nowMs;
  await connection.query('DISCARD PLANS');
}
