import { startService } from '../support/service.js';
import { startTestRedis, testPostgres } from '../support/servers.js';
import { createBenchDatabase } from './bench-database.js';
import type { BenchDatabase } from './bench-database.js';
import type { BaselineEnv } from './baseline/main.js';
import { startBenchProcess } from './bench-process.js';
import type { BenchProcess } from './bench-process.js';
import type { Catalogue } from './catalogue.js';
import { compileChildren } from './compile-children.js';
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
  pids: RolePids;
  check: LevelCheck;
  /** Connections of its pool; undefined for ours, which runs as it is configured. */
  pool: number | undefined;
  setPool: (size: number) => Promise<void>;
  logs: () => string[];
}

export interface Stack {
  postgresUrl: string;
  catalogue: Catalogue;
  generator: BenchProcess;
  redis: RedisWatch;
  designs: Map<DesignName, RunningDesign>;
  close: () => Promise<void>;
}

export interface StackOptions {
  designs: readonly DesignName[];
  workers: number;
  say: (line: string) => void;
}

const callMsMax = 15_000;

/**
 * Starts everything: Postgres and Redis as `npm start` has them, the service as it is built, each baseline in a process
 * of its own, the generator in another. What is started is known to the exit handler at once, so that Ctrl-C and a
 * failure half-way leave nothing behind.
 */
export async function startStack({ designs: names, workers, say }: StackOptions): Promise<Stack> {
  const closers: (() => unknown)[] = [];
  const scriptOf = compileChildren();
  say('starting Postgres and Redis');
  const [postgres, redisServer] = await Promise.all([testPostgres(), startTestRedis()]);
  closers.push(() => redisServer.stop());
  const redis = createRedisWatch(redisServer.url);
  closers.push(() => {
    redis.close();
  });
  say('filling a database');
  const bench = await createBenchDatabase();
  const generator = await startBenchProcess({ name: 'the generator', script: scriptOf('generator/main.ts'), env: {} });
  closers.push(() => generator.stop());
  await generator.call('prepare', bench.catalogue, callMsMax);

  const shared: DesignDeps = {
    bench,
    redisUrl: redisServer.url,
    pids: { redis: [redisServer.pid], postgres: [postgres.pid], generator: [generator.pid], bench: [process.pid] },
    script: scriptOf('baseline/main.ts'),
    closers,
  };
  const designs = new Map<DesignName, RunningDesign>();
  for (const name of names) {
    say(`starting ${name}`);
    designs.set(name, isBaseline(name) ? await startBaseline(shared, name) : await startOurs(shared, workers));
  }
  return {
    postgresUrl: postgres.url,
    catalogue: bench.catalogue,
    generator,
    redis,
    designs,
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
  closers: (() => unknown)[];
}

/** As an image of it runs: in production logs are lines of JSON. */
const env = { NODE_ENV: 'production' };

async function startOurs({ bench, redisUrl, pids, closers }: DesignDeps, workers: number): Promise<RunningDesign> {
  const databaseUrl = await bench.copyFor('ours');
  const service = await startService({ databaseUrl, redisUrl, workers, env });
  closers.push(() => service.stop());
  const [api] = service.apis;
  const check = createLevelCheck(databaseUrl, bench.catalogue);
  closers.push(() => check.close());
  return {
    name: 'ours',
    port: api?.port ?? 0,
    pids: { ...pids, api: service.apis.map(({ pid }) => pid), worker: service.workers.map(({ pid }) => pid) },
    check,
    pool: undefined,
    setPool: () => Promise.reject(new Error('the service runs as it is configured')),
    logs: () => [...service.apis, ...service.workers].flatMap((proc) => proc.logs().slice(-10)),
  };
}

async function startBaseline(
  { bench, redisUrl, pids, script, closers }: DesignDeps,
  name: BaselineName,
): Promise<RunningDesign> {
  const databaseUrl = await bench.copyFor(name);
  const given: BaselineEnv = { BENCH_DESIGN: name, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const baseline = await startBenchProcess({ name, script, env: { ...env, PATH: process.env['PATH'], ...given } });
  closers.push(() => baseline.stop());
  const check = createLevelCheck(databaseUrl, bench.catalogue);
  closers.push(() => check.close());
  const design: RunningDesign = {
    name,
    port: baseline.port,
    pids: { ...pids, api: [baseline.pid], worker: [] },
    check,
    pool: poolDefault,
    setPool: async (size) => {
      await baseline.call('usePool', size, callMsMax);
      design.pool = size;
    },
    logs: () => baseline.logs().slice(-10),
  };
  return design;
}
