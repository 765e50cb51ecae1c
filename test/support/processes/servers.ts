import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { isTransient } from '../../../shared/database/errors.js';
import { migrateDatabase } from '../../../shared/database/migrate-database.js';
import type { Outcome } from '../../../shared/runtime/outcome.js';
import { startPostgres } from '../../../shared/standalone/postgres.js';
import type { PostgresServer } from '../../../shared/standalone/postgres.js';
import { waitForExit } from '../../../shared/standalone/processes.js';
import { startRedis } from '../../../shared/standalone/redis.js';
import type { RedisServer } from '../../../shared/standalone/redis.js';
import { rememberOpen } from './cleanup.js';
import { endNow } from './end-now.js';
import { execute } from '../database/execute.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../time/until.js';

/** A server of a test's own. Address and port stay the same over a restart; the pid does not. */
export interface TestServer {
  url: string;
  port: number;
  readonly pid: number;
  stop(): Promise<void>;
  /** SIGKILL, and resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port, after `kill` or a crash. */
  restart(): Promise<void>;
}

export interface TestRedis extends TestServer {
  flush(): Promise<void>;
}

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

const goneMsMax = 5_000;
/** Of a Postgres that kills what it has started only after 5 s. */
const endedMsMax = 15_000;
const migratedMsMax = 30_000;
const templateName = 'template_migrated';

let shared: Promise<TestServer> | undefined;
let template: Promise<void> | undefined;
let databases = 0;

/** The one Postgres of the run, started at the first call, stopped at the run's end. */
export function testPostgres(): Promise<TestServer> {
  shared ??= startServer('the shared Postgres', 'postgres', true);
  return shared;
}

/**
 * An empty, migrated database of one's own on the run's Postgres: a copy of a template that is migrated once. The suite
 * drops it, if it is not for the whole run.
 */
export async function createTestDatabase({ forWholeRun = false } = {}): Promise<TestDatabase> {
  const server = await testPostgres();
  template ??= migrateTemplate(server.url);
  await template;
  databases += 1;
  const name = `test_${String(databases)}_${randomBytes(4).toString('hex')}`;
  return toBeDropped(await createDatabaseOn(server.url, name, templateName), forWholeRun);
}

/** As `createTestDatabase`, on a Postgres of a suite's own, which it may kill. */
export async function migrateTestDatabase(server: TestServer): Promise<TestDatabase> {
  const database = await createDatabaseOn(server.url, `test_${randomBytes(4).toString('hex')}`, 'template1');
  await migrate(database.url);
  return database;
}

/** A database without a schema, on the run's Postgres. The suite drops it. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const server = await testPostgres();
  return toBeDropped(
    await createDatabaseOn(server.url, `test_empty_${randomBytes(4).toString('hex')}`, 'template1'),
    false,
  );
}

function toBeDropped(database: TestDatabase, forWholeRun: boolean): TestDatabase {
  const name = `the database ${new URL(database.url).pathname.slice(1)}`;
  // Where nothing can be awaited it goes with its server.
  const forget = rememberOpen({ name, forWholeRun, close: () => database.drop(), closeNow: () => undefined });
  return {
    url: database.url,
    drop: async () => {
      await database.drop();
      forget();
    },
  };
}

/** A Postgres of a suite's own, to be killed and restarted. The suite stops it. */
export function startTestPostgres(): Promise<TestServer> {
  return startServer('a Postgres', 'postgres', false);
}

/**
 * A Redis of a suite's own, empty, to be flushed, killed and restarted. The suite stops it, if it is not for the whole
 * run.
 */
export async function startTestRedis({ forWholeRun = false } = {}): Promise<TestRedis> {
  const server = await startServer('a Redis', 'redis', forWholeRun);
  return Object.assign(server, {
    flush: async () => {
      const redis = new Redis(server.url, { retryStrategy: () => null });
      try {
        await redis.flushall();
      } finally {
        redis.disconnect();
      }
    },
  });
}

async function startServer(name: string, kind: 'postgres' | 'redis', forWholeRun: boolean): Promise<TestServer> {
  const folder = await temporaryFolder();
  let pid: number | undefined;
  let server: PostgresServer | RedisServer | undefined;
  const start = async (port: number) => {
    const options = { port, say: () => undefined, env: process.env, onSpawn: (spawned: number) => (pid = spawned) };
    const dir = join(folder.path, 'server');
    server = await orThrow(
      kind === 'postgres' ? startPostgres({ ...options, dataDir: dir }) : startRedis({ ...options, dir }),
    );
    return server;
  };
  const close = async () => {
    await server?.stop();
    await folder.remove();
  };
  const closeNow = () => {
    // On SIGQUIT Postgres takes its processes and its shared memory with it; after a SIGKILL the memory would stay.
    if (pid !== undefined) endNow(pid, kind === 'postgres' ? 'SIGQUIT' : 'SIGKILL', endedMsMax);
    // Processes of its own that outlive it go on writing until they notice: 0.1 s, 0.2 s … between the attempts.
    rmSync(folder.path, { recursive: true, force: true, maxRetries: 6 });
  };
  // Before the start, because a Ctrl-C may come during it.
  const forget = rememberOpen({ name, forWholeRun, close, closeNow });
  const { url, port } = await start(0);
  return {
    url,
    port,
    get pid() {
      return pid ?? 0;
    },
    stop: async () => {
      await close();
      forget();
    },
    kill: async () => {
      server?.kill();
      if (!(await waitForExit(pid ?? 0, goneMsMax))) throw new Error(`${name} survived SIGKILL`);
    },
    restart: async () => {
      const again = await start(port);
      if (again.port !== port) throw new Error(`${name}: port ${String(port)} was taken while it was down`);
    },
  };
}

async function orThrow<T>(started: Promise<Outcome<T>>): Promise<T> {
  const outcome = await started;
  if (!outcome.ok) throw new Error(outcome.problem);
  return outcome.value;
}

async function migrateTemplate(serverUrl: string): Promise<void> {
  const { url } = await createDatabaseOn(serverUrl, templateName, 'template1');
  await migrate(url);
}

/** A service gives a connection up sooner than a test should; to migrate once more changes nothing twice. */
async function migrate(url: string): Promise<void> {
  const isDone = async () => {
    try {
      await migrateDatabase(url, () => undefined);
      return true;
    } catch (error) {
      if (!isTransient(error)) throw error;
      return false;
    }
  };
  await until(isDone, { deadlineMs: migratedMsMax, what: 'a migrated database' });
}

async function createDatabaseOn(serverUrl: string, name: string, from: string): Promise<TestDatabase> {
  await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${from}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}
