import type { Knex } from 'knex';
import pg from 'pg';
import { afterRunning } from '../runtime/running-wait.js';
import { CertificateFault } from './errors.js';
import { endOnFault, streamOf } from './raw-connection.js';

/** How node-postgres opens a session, which it does not type. */
interface Opening {
  getStartupConf: () => Record<string, string>;
  connectionTimeoutHandle?: NodeJS.Timeout;
}

const startupOf = (pg.Client.prototype as unknown as Opening).getStartupConf;

/** A server that is there has closed its side long before. */
const goodbyeMsMax = 1_000;

/** node-postgres, with what it leaves undone when a session is opened and when it ends. */
class SessionClient extends pg.Client implements Opening {
  connectionTimeoutHandle?: NodeJS.Timeout;
  private readonly openMsMax: number | undefined;

  /**
   * If the driver cannot log in, it gives up the session but leaves its socket open. When Postgres asked for a password
   * and the address had none, an API took every connection that Postgres allows within 20 s, each for a minute.
   *
   * @throws CertificateFault
   */
  constructor(config?: string | pg.ClientConfig) {
    try {
      super(config);
    } catch (error) {
      // What it opens here are the files that the address names (sslrootcert, sslcert, sslkey), and nothing else.
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      throw new CertificateFault((error as Error).message, { cause: error });
    }
    this.openMsMax = typeof config === 'string' ? undefined : config?.connectionTimeoutMillis;
    endOnFault(this);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  /**
   * The driver's own limit is a plain timer. In a process that stood still for longer it fires before the socket is
   * read in which the server's answer lies: an API that had just started answered 503s, as if Postgres were away.
   */
  override connect(callback?: (error: Error) => void): unknown {
    const opened = callback === undefined ? super.connect() : super.connect(callback);
    clearTimeout(this.connectionTimeoutHandle);
    if (this.openMsMax === undefined) return opened;
    const stop = afterRunning(this.openMsMax, () => streamOf(this).destroy(new Error('timeout expired')));
    this.once('connect', stop).once('end', stop);
    return opened;
  }

  /**
   * The driver reads times only in the form `2026-11-22 23:39:19+00`, and silently takes any other one for null: with
   * `ALTER ROLE … SET DateStyle = 'German'` a key that was revoked or had expired was valid for ever. Sent at the start
   * of a session, the setting costs no round trip, and overrides those of the role and the database. Poolers know it,
   * because drivers for Java always send it.
   */
  getStartupConf(): Record<string, string> {
    return { ...startupOf.call(this), DateStyle: 'ISO' };
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  /**
   * The driver says goodbye and waits for the server to close the connection. With a server that does not, an idle
   * connection kept a process alive: a worker was forced to exit with 1 after eight seconds.
   */
  override end(callback?: (error: Error) => void): unknown {
    const stream = streamOf(this);
    // The socket itself keeps the process open until then, and without a socket there is nothing to wait for.
    setTimeout(() => stream.destroy(), goodbyeMsMax).unref();
    return callback === undefined ? super.end() : super.end(callback);
  }
}

/** What Knex has of a pool, and does not type. */
interface PoolClient {
  driver: { Client: typeof pg.Client };
  pool: Pool;
  transaction: (work: unknown, config: object, outer: unknown) => unknown;
}

/** Of tarn. */
interface Pool {
  acquireTimeoutMillis: number;
  acquire: () => { promise: Promise<unknown>; reject: (error: Error) => void };
}

/** The longest time of a timer. */
const never = 2 ** 31 - 1;

/** Makes who waits for a connection wait as long as before, but while this process runs: as `SessionClient.connect`. */
function waitWhileRunning(pool: Pool): void {
  const { acquireTimeoutMillis: waitMs } = pool;
  const acquire = pool.acquire.bind(pool);
  pool.acquireTimeoutMillis = never;
  pool.acquire = () => {
    const pending = acquire();
    const stop = afterRunning(waitMs, () => {
      pending.reject(new Error('no connection came free'));
    });
    pending.promise.then(stop, stop);
    return pending;
  };
}

/**
 * Makes the pool of this `Knex` open its sessions as `SessionClient`, wait for them while the process runs, and begin
 * each transaction as READ COMMITTED, unless it says otherwise: with another `default_transaction_isolation`, a
 * transaction would go on seeing what was before it had its locks, and fail wherever another had written meanwhile. A
 * setting of the session would do for single statements too (`runReadCommitted`), but PgBouncer refuses it at the
 * start, and later gives it to other clients.
 */
export function withSessions(database: Knex): Knex {
  const client = database.client as PoolClient;
  const { transaction } = client;
  client.driver = { Client: SessionClient };
  waitWhileRunning(client.pool);
  client.transaction = (work, config, outer) =>
    transaction.call(client, work, { isolationLevel: 'read committed', ...config }, outer);
  return database;
}
