import { closeConnections, request } from '../http/http.js';
import { createTestDatabase, startTestRedis } from './servers.js';
import type { TestRedis } from './servers.js';
import { startProcess, stopProcess } from './service-process.js';
import type { Env, Proc } from './service-process.js';
import { until } from '../time/until.js';

export interface ServiceOptions {
  apis?: number;
  workers?: number;
  /** For every process; `undefined` takes a variable away. */
  env?: Env;
  apiEnv?: Env;
  workerEnv?: Env;
  /** `{ worker: 'after-take=kill:1' }`; see fail-points.ts. Only for the processes started at once. */
  failPoints?: { api?: string; worker?: string };
  databaseUrl?: string;
  redisUrl?: string;
  /** Nobody has to stop it: what is started at once ends with the process that runs the tests. */
  forWholeRun?: boolean;
}

export interface Service {
  apis: Proc[];
  workers: Proc[];
  databaseUrl: string;
  redisUrl: string;
  /** Its own Redis; absent when it was given one. */
  redis: TestRedis | undefined;
  baseUrls: string[];
  startApi(env?: Env): Promise<Proc>;
  startWorker(env?: Env): Promise<Proc>;
  stop(): Promise<void>;
}

const servingMsMax = 10_000;
/** Likewise after a fault, once what was away is back. */
const servingAgainMsMax = 20_000;

/** For tests alone: 32 bytes that protect nothing. */
const testTokenKey = '00'.repeat(32);

/**
 * The built service as real processes on free ports, ready to serve: APIs and workers from `dist/`, a migrated database
 * and an empty Redis of their own unless given. Stopping it fails when a process does not end by itself on SIGTERM.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { apis = 1, workers = 1, failPoints = {}, forWholeRun = false } = options;
  const [database, redis] = await Promise.all([
    options.databaseUrl === undefined ? createTestDatabase({ forWholeRun }) : undefined,
    options.redisUrl === undefined ? startTestRedis({ forWholeRun }) : undefined,
  ]);
  const databaseUrl = options.databaseUrl ?? database?.url ?? '';
  const redisUrl = options.redisUrl ?? redis?.url ?? '';
  const base = serviceEnv(databaseUrl, redisUrl);
  const launch = async (kind: 'api' | 'worker', env: Env = {}, started = {}): Promise<Proc> => {
    const ofKind = kind === 'api' ? options.apiEnv : options.workerEnv;
    const proc = await startProcess(kind, { ...base, ...options.env, ...ofKind, ...env }, started);
    (kind === 'api' ? service.apis : service.workers).push(proc);
    if (proc.baseUrl !== undefined) service.baseUrls.push(proc.baseUrl);
    return proc;
  };
  const service: Service = {
    apis: [],
    workers: [],
    databaseUrl,
    redisUrl,
    redis,
    baseUrls: [],
    startApi: (env) => launch('api', env),
    startWorker: (env) => launch('worker', env),
    stop: async () => {
      service.baseUrls.forEach(closeConnections);
      // Side by side, and every one is waited for, so that one that hangs leaves none of the others behind.
      const ends = await Promise.allSettled([...service.apis, ...service.workers].map(stopProcess));
      await Promise.all([redis?.stop(), database?.drop()]);
      const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
      if (failures.length > 0) throw new AggregateError(failures, failures.map((error) => error.message).join('\n'));
    },
  };
  // All settled: one that fails must not leave another behind that is still starting.
  const starts = await Promise.allSettled([
    ...repeat(apis, () => launch('api', armed(failPoints.api), { forWholeRun })),
    ...repeat(workers, () => launch('worker', armed(failPoints.worker), { forWholeRun })),
  ]);
  const failure = starts.find((start) => start.status === 'rejected');
  if (failure) {
    await service.stop().catch(() => undefined);
    throw failure.reason;
  }
  if (workers > 0) await untilServing(service, servingMsMax);
  return service;
}

/**
 * Resolves when every living API process says that it can serve. An API asks now and then whether a worker lives, so
 * whoever has just started the only one has to wait here: until then every write is refused.
 */
export async function untilServing({ apis }: Pick<Service, 'apis'>, deadlineMs = servingAgainMsMax): Promise<void> {
  for (const api of apis) {
    const { name, baseUrl } = api;
    if (api.hasExited() || baseUrl === undefined) continue;
    await until(async () => (await request(baseUrl, { path: '/readyz' })).status === 200, {
      deadlineMs,
      what: () => `${name} to be ready; it said:\n${api.logs().slice(-20).join('\n')}`,
    });
  }
}

function armed(specification: string | undefined): Env {
  return specification === undefined ? {} : { FAIL_POINTS: specification };
}

function repeat<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

/** Nothing of the developer's own settings gets in, or a test would pass on one machine only. */
function serviceEnv(databaseUrl: string, redisUrl: string): Env {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    // Under `npm run test:coverage` the processes count what they run of dist/ as well.
    NODE_V8_COVERAGE: process.env.NODE_V8_COVERAGE,
    // A round of the mirror would call a test's scripted platform; where the mirror is tested it is switched on.
    PLATFORM_SYNC_EVERY_MINUTES: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    API_INSTANCES: '1',
    PLATFORM_TOKEN_KEY: testTokenKey,
    PLATFORM_ALLOW_LOOPBACK: 'true',
    LOG_LEVEL: 'info',
  };
}
