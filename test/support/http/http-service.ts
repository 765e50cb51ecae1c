import { Redis } from 'ioredis';
import type { Database } from '../../../shared/database/connect.js';
import { startApiInProcess } from '../processes/api-in-process.js';
import { rememberOpen } from '../processes/cleanup.js';
import { connectForTest } from '../database/database.js';
import { closeConnections, request } from './http.js';
import type { Answer, Asked } from './http.js';
import { platformTokenKey } from '../shop/platform.js';
import { checkReply } from './reply.js';
import { startService } from '../processes/service.js';
import type { Service, ServiceOptions } from '../processes/service.js';
import { stopProcess } from '../processes/service-process.js';
import type { Env, Proc } from '../processes/service-process.js';

/** A running service as a suite of HTTP tests uses it; its properties are there from the suite's first hook on. */
export interface HttpService {
  readonly baseUrl: string;
  readonly port: number;
  readonly database: Database;
  readonly redis: Redis;
  readonly service: Service;
  /** Sends a request and checks what holds of every reply, whatever it says (`checkReply`). */
  ask(asked: Asked): Promise<Answer>;
  /**
   * Another API with settings of its own on the same data, for one test; it is stopped when `use` is done. It runs in
   * the process of the test.
   */
  withApi<T>(env: Env, use: (api: { baseUrl: string; port: number }) => Promise<T>): Promise<T>;
  /** As `withApi`, in a process of its own, for a test of how it ends or of what it logs. */
  withApiProcess<T>(env: Env, use: (api: { baseUrl: string; port: number; proc: Proc }) => Promise<T>): Promise<T>;
}

interface Running {
  service: Service;
  database: Database;
  redis: Redis;
}

const complete = once({ env: { PLATFORM_TOKEN_KEY: platformTokenKey } });
const workerless = once({ workers: 0 });

/**
 * For the suite it is called in: the one service (an API, a worker) of all HTTP tests of this process. The first suite
 * that runs starts it, and it ends with the process. Suites keep out of each other's way by shops of their own.
 */
export function useHttpService(): HttpService {
  return use(complete);
}

/** As `useHttpService`, another one for all who call this: an API whose workers are away. */
export function useWorkerlessService(): HttpService {
  return use(workerless);
}

/** As `useHttpService`, but for one suite alone and as it wants it: one that breaks it, or needs it broken. */
export function useOwnHttpService(options: ServiceOptions): HttpService {
  let starting: Promise<Running> | undefined;
  const http = use(() => (starting ??= start(options)));
  after('the service is down', () => starting?.then(stop));
  return http;
}

function once(options: ServiceOptions): () => Promise<Running> {
  let starting: Promise<Running> | undefined;
  return () => (starting ??= startForWholeRun(options));
}

async function startForWholeRun(options: ServiceOptions): Promise<Running> {
  const running = await start({ ...options, forWholeRun: true });
  // Nothing to close at once: its processes and its Redis are remembered on their own.
  rememberOpen({
    name: 'the service of the HTTP tests',
    forWholeRun: true,
    close: () => stop(running),
    closeNow: () => undefined,
  });
  return running;
}

function use(starting: () => Promise<Running>): HttpService {
  let running: Running | undefined;
  before('the service is up', async () => (running = await starting()));
  return viewOf(() => {
    if (running === undefined) throw new Error('the service is used before the hooks of its suite have run');
    return running;
  });
}

function viewOf(running: () => Running): HttpService {
  const api = () => {
    const [first] = running().service.apis;
    if (first?.baseUrl === undefined || first.port === undefined) throw new Error('the service has no API');
    return { baseUrl: first.baseUrl, port: first.port };
  };
  return {
    get baseUrl() {
      return api().baseUrl;
    },
    get port() {
      return api().port;
    },
    get database() {
      return running().database;
    },
    get redis() {
      return running().redis;
    },
    get service() {
      return running().service;
    },
    ask: (asked) => ask(api().baseUrl, asked),
    async withApi(env, use) {
      const api = await startApiInProcess(running().service, { PLATFORM_ALLOW_LOOPBACK: 'true', ...env });
      try {
        return await use(api);
      } finally {
        await api.stop();
      }
    },
    async withApiProcess(env, use) {
      const proc = await running().service.startApi(env);
      try {
        return await use({ baseUrl: proc.baseUrl ?? '', port: proc.port ?? 0, proc });
      } finally {
        closeConnections(proc.baseUrl ?? '');
        await stopProcess(proc);
      }
    },
  };
}

/** As `HttpService.ask`, of any API process. */
export async function ask(baseUrl: string, asked: Asked): Promise<Answer> {
  const answer = await request(baseUrl, asked);
  checkReply(answer, asked.method ?? 'GET');
  return answer;
}

async function start(options: ServiceOptions): Promise<Running> {
  const service = await startService(options);
  const database = connectForTest(service.databaseUrl, { poolMax: 4, applicationName: 'raw-materials-test' });
  return { service, database, redis: new Redis(service.redisUrl, { retryStrategy: () => null }) };
}

async function stop({ service, database, redis }: Running): Promise<void> {
  redis.disconnect();
  await database.destroy();
  await service.stop();
}
