import { join } from 'node:path';
import { withDatabase } from '../database/connect.js';
import { readServerFacts } from '../database/server-facts.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { keepPlatformTokenKey } from './data-folder.js';
import type { Demo } from './demo-file.js';
import { migrate, seed } from './fill-database.js';
import { identityOf } from './given-postgres.js';
import { checkWorkers } from './given-redis.js';
import { keepServer } from './keep-server.js';
import type { KeptServer } from './keep-server.js';
import { orAbort } from './or-abort.js';
import { startPostgres } from './postgres.js';
import { signalLater } from './processes.js';
import { checkRedis } from './redis-check.js';
import { startRedis } from './redis.js';
import { startProcesses } from './start-processes.js';
import type { ProcessesDeps } from './start-processes.js';
import { startStandInPlatform } from './stand-in-platform.js';

export interface StackDeps extends ProcessesDeps {
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  /** The operators' own, which `manage` takes as well; undefined for that of the data folder. */
  platformTokenKey: string | undefined;
}

const endedMeanwhile = 'It was told to end.';

/**
 * Starts everything, and registers each thing for closing as soon as it is open: Postgres and Redis, the schema, the
 * stand-in of the commerce platform, the demo data, two workers and the API. Resolves when `/readyz` is good.
 */
export async function startStack(deps: StackDeps): Promise<Outcome<Demo>> {
  const { terminal, abort } = deps;
  // Before the database is there, with which `manage` looks for the key.
  const key = keepPlatformTokenKey(deps.dataFolder, deps.platformTokenKey);
  if (!key.ok) return key;
  const opening = [openDatabase(deps), openRedis(deps)] as const;
  // Waits for both even if one fails: nothing may still be starting after this function has ended.
  await Promise.allSettled(opening);
  const [database, redis] = await Promise.all(opening);
  abort.throwIfAborted();
  if (!database.ok) return database;
  if (!redis.ok) return redis;

  const isGiven = deps.databaseUrl !== undefined;
  const migrating = migrate(database.value, isGiven, terminal.say);
  const migrated = await orAbort(migrating, abort, endedMeanwhile);
  if (!migrated.ok) return migrated;
  abort.throwIfAborted();

  // Our own Redis has no workers yet. With those of another database alive, ours would wait, and nothing become ready.
  const workers = await checkWorkers(redis.value, { own: () => identityOf(database.value), isForStart: true });
  if (workers.verdict === 'bad') return failed(`The workers on this Redis: ${workers.text}`);
  abort.throwIfAborted();

  const platform = await startStandInPlatform();
  deps.shutdown.register('stand-in platform', () => platform.stop());

  const demo = { dataFolder: deps.dataFolder, platformUrl: platform.url, platformTokenKey: key.value };
  const seeding = seed({ databaseUrl: database.value, ...demo, say: terminal.say }, isGiven);
  const access = await orAbort(seeding, abort, endedMeanwhile);
  if (!access.ok) return access;
  terminal.say('Demo data: there');

  const urls = { DATABASE_URL: database.value, REDIS_URL: redis.value, PLATFORM_TOKEN_KEY: key.value };
  const served = await startProcesses(deps, urls);
  return served.ok ? { ok: true, value: { ...served.value, ...access.value } } : served;
}

async function openDatabase(deps: StackDeps): Promise<Outcome<string>> {
  const { databaseUrl, dataFolder, terminal, env } = deps;
  if (databaseUrl !== undefined) {
    terminal.say('Postgres: the one of DATABASE_URL');
    return { ok: true, value: databaseUrl };
  }
  const own = { dataDir: join(dataFolder, 'postgres'), say: terminal.say, env };
  const started = await openServer(deps, 'Postgres', 'SIGINT', (at) => startPostgres({ ...own, ...at }));
  if (!started.ok) return started;
  const { url, port } = started.value;
  terminal.say(`Postgres: ${await versionAt(url)} on port ${port}`);
  return { ok: true, value: url };
}

/** As the server tells it: the npm package that it comes in has a version of its own, which says beta. */
async function versionAt(url: string): Promise<string> {
  try {
    const options = { url, poolMax: 1, applicationName: 'raw-materials-start' };
    return (await withDatabase(options, readServerFacts)).version;
  } catch {
    // Whatever keeps it from answering, the migration will meet as well, and has words for it.
    return 'there,';
  }
}

async function openRedis(deps: StackDeps): Promise<Outcome<string>> {
  const { redisUrl, dataFolder, terminal, env } = deps;
  if (redisUrl !== undefined) {
    const checked = await checkRedis(redisUrl);
    if (!checked.ok) return checked;
    terminal.say(`Redis: the one of REDIS_URL, version ${checked.value.version}`);
    return { ok: true, value: redisUrl };
  }
  const own = { dir: join(dataFolder, 'redis'), say: terminal.say, env };
  const started = await openServer(deps, 'Redis', 'SIGTERM', (at) => startRedis({ ...own, ...at }));
  if (!started.ok) return started;
  const { url, version, port, source } = started.value;
  terminal.say(`Redis: ${version} on port ${port} (${source})`);
  return { ok: true, value: url };
}

interface StartAt {
  port: number;
  signal: AbortSignal;
  onSpawn: (pid: number) => void;
}

/**
 * Starts an embedded server, and has it started again whenever it ends by itself.
 *
 * @param endNow the signal that ends it when this process must exit without waiting
 */
async function openServer<Server extends KeptServer & { adopted: boolean }>(
  { terminal, shutdown, onProcess, abort }: StackDeps,
  name: string,
  endNow: NodeJS.Signals,
  start: (at: StartAt) => Promise<Outcome<Server>>,
): Promise<Outcome<Server>> {
  const onSpawn = (pid: number) => onProcess(signalLater(pid, endNow));
  const startOn = (port: number, signal: AbortSignal) => start({ port, signal, onSpawn });
  const started = await startOn(0, abort);
  if (!started.ok) return started;
  // One that an earlier start left running was not spawned by this one.
  if (started.value.adopted) onSpawn(started.value.pid);
  shutdown.register(name, keepServer(started.value, { name, start: startOn, say: terminal.say }));
  return started;
}
