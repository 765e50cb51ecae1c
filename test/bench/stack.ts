import { compileChildren } from '../load/compile-children.js';
import { startGenerators } from '../load/generators.js';
import type { Generators } from '../load/generators.js';
import { startAnsweringProcess } from '../load/answering-process.js';
import { heapArguments } from '../../shared/runtime/heap.js';
import { startService } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import type { Env, Proc } from '../support/processes/service-process.js';
import { startTestRedis, testPostgres } from '../support/processes/servers.js';
import { createBenchDatabase } from './bench-database.js';
import type { BenchDatabase } from './bench-database.js';
import type { BaselineEnv } from './baseline/main.js';
import type { BenchCatalogue } from './catalogue.js';
import { isBaseline, poolDefault } from './designs.js';
import type { BaselineName, DesignName } from './designs.js';
import { createLevelCheck } from './level-check.js';
import type { LevelCheck } from './level-check.js';
import type { RolePids } from './process-times.js';
import { createRedisWatch } from './redis-watch.js';
import type { RedisWatch } from './redis-watch.js';

/** A design that serves. */
export interface RunningDesign {
  name: DesignName;
  port: number;
  /** Of each of its API processes; a baseline has one. */
  readonly ports: readonly number[];
  databaseUrl: string;
  readonly pids: RolePids;
  check: LevelCheck;
  /** Connections of its pool; undefined for ours, which runs as it is configured. */
  pool: number | undefined;
  setPool: (size: number) => Promise<void>;
  /** Starts or stops worker processes until there are so many; only ours has any. */
  setWorkers: (count: number) => Promise<void>;
  /** Likewise API processes, of which one stays. */
  setApis: (count: number) => Promise<void>;
  logs: () => string[];
  close: () => Promise<void>;
}

export interface Stack {
  postgresUrl: string;
  catalogue: BenchCatalogue;
  generators: Generators;
  redis: RedisWatch;
  designs: Map<DesignName, RunningDesign>;
  /** One more of ours, on a copy of the database and a Redis of its own. */
  startAnother: (options: AnotherOptions) => Promise<RunningDesign>;
  /** Processes that make load beside the first. */
  startGenerators: () => Promise<Generators>;
  close: () => Promise<void>;
}

export interface StackOptions {
  designs: readonly DesignName[];
  workers: number;
  say: (line: string) => void;
}

export interface AnotherOptions {
  /** Names the copy of the database. */
  name: string;
  workers: number;
  apiEnv?: Env;
  workerEnv?: Env;
  /** Before the service starts on it. */
  prepare?: (databaseUrl: string) => Promise<void>;
}

const callMsMax = 15_000;

/**
 * Starts everything: Postgres and Redis as `npm start` has them, the service as it is built, each baseline in a process
 * of its own, the generator in another. What is started is known to the exit handler at once, so that Ctrl-C and a
 * failure half-way leave nothing behind.
 */
export async function startStack({ designs: names, workers, say }: StackOptions): Promise<Stack> {
  const closers: (() => unknown)[] = [];
  const scriptOf = await compileChildren();
  say('starting Postgres and Redis');
  const [postgres, redisServer] = await Promise.all([testPostgres(), startTestRedis()]);
  closers.push(() => redisServer.stop());
  const redis = createRedisWatch(redisServer.url);
  closers.push(() => {
    redis.close();
  });
  say('filling a database');
  const bench = await createBenchDatabase();
  const generators = await startGenerators(1, scriptOf);
  closers.push(() => generators.close());

  const common = { postgres: [postgres.pid], generator: generators.pids, bench: [process.pid] };
  const deps: DesignDeps = {
    bench,
    redisUrl: redisServer.url,
    pids: { ...common, redis: [redisServer.pid] },
    script: scriptOf('bench/baseline/main.ts'),
  };
  const designs = new Map<DesignName, RunningDesign>();
  for (const name of names) {
    say(`starting ${name}`);
    const design = isBaseline(name) ? await startBaseline(deps, name) : await startOurs(deps, { name, workers });
    designs.set(name, design);
    closers.push(design.close);
  }
  return {
    postgresUrl: postgres.url,
    catalogue: bench.catalogue,
    generators,
    redis,
    designs,
    startAnother: async (options) => {
      const own = await startTestRedis();
      const another = { ...deps, redisUrl: own.url, pids: { ...common, redis: [own.pid] } };
      const design = await startOurs(another, options);
      const { close } = design;
      design.close = async () => {
        await close();
        await own.stop();
      };
      return design;
    },
    startGenerators: () => startGenerators(1, scriptOf),
    close: async () => {
      for (const close of closers.reverse()) await close();
    },
  };
}

interface DesignDeps {
  bench: BenchDatabase;
  redisUrl: string;
  pids: Pick<RolePids, 'redis' | 'postgres' | 'generator' | 'bench'>;
  script: string;
}

/** As its image runs it: in production, logs are lines of JSON, and no loopback platform is let in. */
export const productionEnv = { NODE_ENV: 'production', PLATFORM_ALLOW_LOOPBACK: 'false' };

async function startOurs(
  { bench, redisUrl, pids }: DesignDeps,
  { name, workers, apiEnv = {}, workerEnv = {}, prepare }: AnotherOptions,
): Promise<RunningDesign> {
  const databaseUrl = await bench.copyFor(name);
  await prepare?.(databaseUrl);
  const service = await startService({ databaseUrl, redisUrl, workers, env: productionEnv, apiEnv, workerEnv });
  const [api] = service.apis;
  const check = await createLevelCheck(databaseUrl, bench.catalogue);
  return {
    name: 'ours',
    port: api?.port ?? 0,
    databaseUrl,
    get pids() {
      return { ...pids, api: living(service.apis).map(pidOf), worker: living(service.workers).map(pidOf) };
    },
    get ports() {
      return living(service.apis).map(({ port }) => port ?? 0);
    },
    check,
    pool: undefined,
    setPool: () => Promise.reject(new Error('the service runs as it is configured')),
    setWorkers: (count) => setCount(service.workers, count, () => service.startWorker()),
    setApis: (count) => setCount(service.apis, count, () => service.startApi()),
    logs: () => [...service.apis, ...service.workers].flatMap((proc) => proc.logs().slice(-10)),
    close: async () => {
      await service.stop();
      await check.close();
    },
  };
}

const living = (processes: readonly Proc[]) => processes.filter((each) => !each.hasExited());
const pidOf = ({ pid }: Proc) => pid;

async function setCount(processes: readonly Proc[], count: number, start: () => Promise<unknown>): Promise<void> {
  while (living(processes).length < count) await start();
  for (const surplus of living(processes).slice(count)) await stopProcess(surplus);
}

async function startBaseline(
  { bench, redisUrl, pids, script }: DesignDeps,
  name: BaselineName,
): Promise<RunningDesign> {
  const databaseUrl = await bench.copyFor(name);
  const given: BaselineEnv = { BENCH_DESIGN: name, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const env = { ...productionEnv, PATH: process.env['PATH'], ...given };
  // Those of an API process (`startProcess`): V8 reads the size of the young generation before our code runs.
  const baseline = await startAnsweringProcess({ name, script, env, nodeArguments: heapArguments });
  const check = await createLevelCheck(databaseUrl, bench.catalogue);
  const design: RunningDesign = {
    name,
    port: baseline.port,
    ports: [baseline.port],
    databaseUrl,
    pids: { ...pids, api: [baseline.pid], worker: [] },
    check,
    pool: poolDefault,
    setPool: async (size) => {
      await baseline.call('usePool', size, callMsMax);
      design.pool = size;
    },
    setWorkers: () => Promise.reject(new Error('a baseline has no workers')),
    setApis: () => Promise.reject(new Error('a baseline is one process')),
    logs: () => baseline.logs().slice(-10),
    close: async () => {
      await baseline.stop();
      await check.close();
    },
  };
  return design;
}
