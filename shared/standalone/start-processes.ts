import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import type { Shutdown } from '../runtime/shutdown.js';
import type { DemoAddresses } from './demo-file.js';
import { orAbort } from './or-abort.js';
import { freePorts, portOrFree } from './ports.js';
import { supervise } from './supervise.js';
import type { Supervised } from './supervise.js';
import type { Terminal } from './terminal.js';

export interface ProcessesDeps {
  dataFolder: string;
  port: number;
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

/**
 * Starts two workers and the API, and registers them for closing. Resolves when `/readyz` is good.
 *
 * @param urls the variables that say which servers they use
 */
export async function startProcesses(
  deps: ProcessesDeps,
  urls: Record<string, string>,
): Promise<Outcome<DemoAddresses>> {
  const { terminal, shutdown, abort } = deps;
  const port = await portOrFree(deps.port);
  if (deps.port !== 0 && port !== deps.port)
    terminal.say(`Port ${deps.port} is taken, or closed to this user: ${port} it is`);
  const env = {
    ...deps.env,
    ...urls,
    HOST: '127.0.0.1',
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
  const runApi = (apiPort: number) => {
    const own = { PORT: String(apiPort), ADMIN_PORT: adminPortOf(0), ADMIN_TOKEN: adminToken };
    const api = run('api', '../../api/main.js', own);
    shutdown.register('API', () => api.stop());
    return api;
  };
  try {
    const served = await allServe(startApi(deps, runApi, port), workers, abort);
    const [adminUrl = '', ...others] = adminPorts.map((adminPort) => `http://127.0.0.1:${adminPort}`);
    const metricsUrls = [adminUrl, ...others].map((url) => `${url}/metrics`);
    return { ok: true, value: { ...served, adminUrl, adminToken, metricsUrls } };
  } catch (error) {
    abort.throwIfAborted();
    return failed(`${(error as Error).message}\nTheir logs are in ${join(deps.dataFolder, 'logs')}.`);
  }
}

/**
 * Starts the API, once more on another port if this one was taken after it had been looked at, as by another `npm
 * start` at the same time.
 *
 * @returns its port, once it serves
 */
async function startApi(
  { terminal, abort }: ProcessesDeps,
  runApi: (port: number) => Supervised,
  port: number,
): Promise<number> {
  try {
    return (await runApi(port).ready).port ?? port;
  } catch (error) {
    const another = await portOrFree(port);
    if (another === port || abort.aborted) throw error;
    terminal.say(`Port ${port} was taken meanwhile: ${another} it is`);
    return (await runApi(another).ready).port ?? another;
  }
}

async function allServe(
  apiPort: Promise<number>,
  workers: Supervised[],
  abort: AbortSignal,
): Promise<Pick<DemoAddresses, 'baseUrl' | 'docsUrl' | 'mcpUrl'>> {
  const late = AbortSignal.any([abort, AbortSignal.timeout(readyMsMax)]);
  const allReady = Promise.all([apiPort, ...workers.map((worker) => worker.ready)]);
  const [port] = await orAbort(allReady, late, 'The API and the workers do not all serve in time.');
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
