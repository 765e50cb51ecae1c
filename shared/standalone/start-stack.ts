import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { withDatabase } from '../database/connect.js';
import { readServerFacts } from '../database/server-facts.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import type { Shutdown } from '../runtime/shutdown.js';
import { keepPlatformTokenKey } from './data-folder.js';
import type { Demo, DemoAddresses } from './demo-file.js';
import { migrate, seed } from './fill-database.js';
import { identityOf } from './given-postgres.js';
import { checkWorkers } from './given-redis.js';
import { keepServer } from './keep-server.js';
import type { KeptServer } from './keep-server.js';
import { freePorts, portOrFree } from './ports.js';
import { startPostgres } from './postgres.js';
import { signalLater } from './processes.js';
import { checkRedis } from './redis-check.js';
import { startRedis } from './redis.js';
import { startStandInPlatform } from './stand-in-platform.js';
import { supervise } from './supervise.js';
import type { Supervised } from './supervise.js';
import type { Terminal } from './terminal.js';

export interface StackDeps {
  dataFolder: string;
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  port: number;
  /** The operators' own, which `manage` takes as well; undefined for that of the data folder. */
  platformTokenKey: string | undefined;
  env: NodeJS.ProcessEnv;
  terminal: Terminal;
  shutdown: Shutdown;
  /** Called for each process that was started, with what ends it at once when this one must exit without waiting. */
  onProcess: (endNow: () => void) => void;
  /**
   * Ends the start where it stands: between two steps, within a download, and while Postgres works. A statement that is
   * under way there then goes on until this process ends.
   */
  abort: AbortSignal;
}

const workerCount = 2;
const readyMsMax = 30_000;
const readyPollMs = 50;
const requestMsMax = 2_000;
const endedMeanwhile = 'It was told to end.';

/**
 * Starts everything, and registers each thing for closing as soon as it is open: Postgres and Redis, the schema, the
 * stand-in of the commerce platform, the demo data, two workers and the API. Resolves when `/readyz` is good.
 */
export async function startStack(deps: StackDeps): Promise<Outcome<Demo>> {
  const { terminal, abort } = deps;
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

  const key = platformTokenKeyOf(deps);
  if (!key.ok) return key;
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

function platformTokenKeyOf({ platformTokenKey, dataFolder }: StackDeps): Outcome<string> {
  return platformTokenKey === undefined ? keepPlatformTokenKey(dataFolder) : { ok: true, value: platformTokenKey };
}

async function startProcesses(deps: StackDeps, urls: Record<string, string>): Promise<Outcome<DemoAddresses>> {
  const { terminal, shutdown, abort } = deps;
  const port = await portOrFree(deps.port);
  if (deps.port !== 0 && port !== deps.port)
    terminal.say(`Port ${deps.port} is taken, or closed to this user: ${port} it is`);
  const env = {
    ...deps.env,
    ...urls,
    HOST: '127.0.0.1',
    PORT: String(port),
    API_INSTANCES: '1',
    // The demo shop's platform is the stand-in; anywhere else a loopback platform is refused (contract §8).
    PLATFORM_ALLOW_LOOPBACK: 'true',
    ADMIN_HOST: '127.0.0.1',
  };
  // Chosen here, so that each is the same when its process is started again.
  const adminPorts = await freePorts(1 + workerCount, [port]);
  const adminPortOf = (index: number) => String(adminPorts[index]);
  const run = (name: string, script: string, own: Record<string, string>) => {
    const supervised = supervise({
      name,
      script: fileURLToPath(new URL(script, import.meta.url)),
      env: { ...env, ...own },
      logPath: join(deps.dataFolder, 'logs', `${name}.log`),
      print: terminal.printOf(name),
    });
    deps.onProcess(() => supervised.kill());
    return supervised;
  };
  const workers = Array.from({ length: workerCount }, (_, index) =>
    run(`worker-${index + 1}`, '../../worker/main.js', { ADMIN_PORT: adminPortOf(index + 1) }),
  );
  shutdown.register('workers', () => Promise.all(workers.map((worker) => worker.stop())));
  // New at each start: it opens a page that only reads, on the loopback.
  const adminToken = randomBytes(18).toString('base64url');
  const api = run('api', '../../api/main.js', { ADMIN_PORT: adminPortOf(0), ADMIN_TOKEN: adminToken });
  shutdown.register('API', () => api.stop());
  try {
    const served = await allServe(api, workers, port, abort);
    const [adminUrl = '', ...others] = adminPorts.map((adminPort) => `http://127.0.0.1:${adminPort}`);
    const metricsUrls = [adminUrl, ...others].map((url) => `${url}/metrics`);
    return { ok: true, value: { ...served, adminUrl, adminToken, metricsUrls } };
  } catch (error) {
    abort.throwIfAborted();
    return failed(`${(error as Error).message}\nTheir logs are in ${join(deps.dataFolder, 'logs')}.`);
  }
}

async function allServe(
  api: Supervised,
  workers: Supervised[],
  wantedPort: number,
  abort: AbortSignal,
): Promise<Pick<DemoAddresses, 'baseUrl' | 'docsUrl' | 'mcpUrl'>> {
  const late = AbortSignal.any([abort, AbortSignal.timeout(readyMsMax)]);
  const allReady = Promise.all([api.ready, ...workers.map((worker) => worker.ready)]);
  const [report] = await orAbort(allReady, late, 'The API and the workers do not all serve in time.');
  const port = report.port ?? wantedPort;
  const origin = `http://127.0.0.1:${port}`;
  while (!(await isReady(`${origin}/readyz`))) {
    if (late.aborted) throw new Error(`${origin}/readyz is not good after ${readyMsMax} ms.`);
    await delay(readyPollMs);
  }
  return {
    baseUrl: `${origin}/v1`,
    docsUrl: `${origin}/docs`,
    mcpUrl: `${origin}/mcp`,
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(requestMsMax) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** @throws an error that says `why`, once the signal is aborted; what becomes of the promise then is heard by nobody */
function orAbort<T>(promise: Promise<T>, signal: AbortSignal, why: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Error(why));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
