import { setTimeout as sleep } from 'node:timers/promises';
import createKnex from 'knex';
import type { Knex } from 'knex';
import { ServerUnusable } from '../domain/server-unusable.js';
import { isTransient, isRefusalOfRole, readOnlyState } from './errors.js';
import { migrationSource } from './migration-source.js';
import { isServerFull, onServerError, streamOf } from './raw-connection.js';
import type { RawConnection } from './raw-connection.js';
import { createSessionAge } from './session-age.js';
import { withSessions } from './session-client.js';

/**
 * A pool, or a transaction on it. How to ask it: `readRows` for what requests and the worker read again and again;
 * `runReadCommitted` for one changing statement that may meet a locked row; a transaction with `raw` for several
 * statements (commands take `settledTransaction`); `pipelinedTransaction` for the apply step alone;
 * `readWithoutTimeout` for what grows with the data. A bare `raw` is for what is seldom asked, as by commands and
 * checks, or meets no locked row.
 */
export type Database = Knex;

export interface ConnectOptions {
  url: string;
  /** Connections in the pool. */
  poolMax: number;
  applicationName: string;
  /**
   * Sends queries without waiting for the answers to earlier ones. The apply step sends its statements as two messages;
   * waiting for each costs a hot material 15 % and a lone request 0.9 ms (pipeline §1). On by default if `answerMsMax`
   * is set.
   */
  pipeline?: boolean;
  /**
   * How long the driver waits for the answer to a statement; then it ends the connection. Must be longer than the
   * timeouts that a transaction sets for itself, which end only the statement.
   */
  answerMsMax?: number;
}

const connectTimeoutMs = 2_000;
const acquireTimeoutMs = 3_000;

/**
 * Opens a pool. It sets nothing on a session but `DateStyle`, which PgBouncer keeps apart for each client, so PgBouncer
 * can be used in transaction mode (pipeline §4).
 */
export function connectDatabase(options: ConnectOptions): Database {
  const database: Database = withSessions(createKnex(knexConfig(options, () => isServerFull(database))));
  return database;
}

/** Opens a pool for as long as `work` takes. */
export async function withDatabase<T>(options: ConnectOptions, work: (database: Database) => Promise<T>): Promise<T> {
  const database = connectDatabase(options);
  try {
    return await work(database);
  } finally {
    await database.destroy();
  }
}

/**
 * A starting process waits this long for Postgres (several attempts of `connectTimeoutMs`), and then says what is
 * wrong.
 */
const reachableMsMax = 10_000;
const againMs = 200;

/**
 * Waits for Postgres to answer.
 *
 * @param ask a first question; it is asked again after a fault that may pass
 * @throws ServerUnusable, caused by the last reason: at once if Postgres refuses this role, after ten seconds if it
 *   cannot be reached
 */
export async function untilReachable(ask: () => PromiseLike<unknown>): Promise<void> {
  const endMs = performance.now() + reachableMsMax;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (isRefusalOfRole(error) || performance.now() > endMs) {
        // The log puts the reason behind it.
        throw new ServerUnusable('Postgres cannot be used', { cause: error });
      }
      await sleep(againMs);
    }
  }
}

const silent = () => undefined;

/**
 * Asked by the pool before it gives out a connection. By itself Knex learns that a connection is gone only from an
 * event of its socket, a turn of the event loop after the driver has ended it; in between it gave the dead connection
 * to the next who asked.
 */
function isOpen(connection: RawConnection): boolean {
  return !streamOf(connection).destroyed;
}

/**
 * Takes a connection out of the pool once its session is over, or is read-only. With a FATAL the server ends the
 * session, and says so before the socket ends; whoever got the connection in between failed with it (520 of 652 that
 * were killed at work). Only after an ERROR does the session go on. A server that speaks another language says neither
 * word, and then connections are reopened for nothing.
 */
function giveUpWithSession(connection: RawConnection): void {
  onServerError(connection, (error) => {
    if (error.severity !== 'ERROR' || error.code === readOnlyState) connection.__knex__disposed = error;
  });
}

/**
 * The driver takes a name in the address over `application_name`. By ours `doctor` and operators tell our sessions from
 * those of others.
 */
const namedProgram = /(?<=[?&])application_name=[^&#]*/g;

/** For knexfile.ts and tests, which need the configuration alone; others open a pool with `connectDatabase`. */
export function knexConfig(
  { url, poolMax, applicationName, pipeline, answerMsMax }: ConnectOptions,
  isFull: () => Promise<boolean> = () => Promise.resolve(false),
): Knex.Config {
  const age = createSessionAge(isFull);
  return {
    client: 'pg',
    connection: {
      connectionString: url.replaceAll(namedProgram, ''),
      application_name: applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      // Only in this mode does the driver end a connection on which a statement overstays. In the other it goes back to
      // the pool with the statement still under way, and whoever gets it next waits behind it: after a server was lost
      // without a word, every connection of the pool was dead until TCP gave up (T8).
      pipeline: pipeline ?? answerMsMax !== undefined,
      ...(answerMsMax === undefined ? {} : { query_timeout: answerMsMax }),
    } as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: poolMax,
      validate: async (session: RawConnection) => !(await age.isOver(session)) && isOpen(session),
      afterCreate(session: RawConnection, done: (error: null, session: RawConnection) => void) {
        age.opened(session);
        giveUpWithSession(session);
        done(null, session);
      },
    },
    acquireConnectionTimeout: acquireTimeoutMs,
    migrations: { migrationSource },
    // Errors are logged, and Knex puts the statement into them. This keeps a client's values out of it.
    compileSqlOnError: false,
    // Knex would write some failures to stdout, between the lines of a JSON log. The caller gets them as errors anyway.
    log: { warn: silent, error: silent, deprecate: silent, debug: silent },
  };
}
