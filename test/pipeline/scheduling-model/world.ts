import fc from 'fast-check';
import type { Redis } from 'ioredis';
import pino from 'pino';
import type { FormedJob } from '../../../api/dispatch/waiter.js';
import { openQueueLink } from '../../../api/dispatch/queue-link.js';
import type { QueueLink } from '../../../api/dispatch/queue-link.js';
import type { MaterialRef } from '../../../shared/domain/operation.js';
import type { HeldMaterial } from '../../../shared/queue/leases.js';
import { queueName } from '../../../shared/queue/names.js';
import { defineScripts } from '../../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../../shared/queue/worker-presence.js';
import type { WorkerPresence } from '../../../shared/queue/worker-presence.js';
import { connectWorkerRedis, untilReady } from '../../../shared/redis/connections.js';
import { openQueueHarness, patientMs } from '../../support/redis/queue-harness.js';
import type { QueueHarness } from '../../support/redis/queue-harness.js';
import { look } from './look.js';
import type { Look } from './look.js';
import { emptyModel, expectFrame, expectInvariants } from './model.js';
import type { Model } from './model.js';

/** More materials of one shop than a lane keeps while others wait. */
const materialsOfShops: Record<number, number> = { 1: 20, 2: 3, 3: 2, 4: 1 };
export const refs: readonly MaterialRef[] = Object.entries(materialsOfShops).flatMap(([shopId, count]) =>
  Array.from({ length: count }, (_, index) => ({ shopId: Number(shopId), materialId: `VMAT-${String(index)}` })),
);
export const queues = refs.map(queueName);
/** Of shop 1 few have most of the work, or the jobs would hardly meet. */
export const anyMaterial = fc.oneof(
  { weight: 8, arbitrary: fc.nat(1) },
  { weight: 1, arbitrary: fc.nat(19) },
  { weight: 5, arbitrary: fc.integer({ min: 20, max: queues.length - 1 }) },
);

/** Of the last worker; its jobs come from the last API. */
const theirs = 'theirs';
const databases = ['ours', 'ours', theirs];
export const workerCount = databases.length;
export const apiCount = 2;

export interface Worker {
  redis: Redis;
  presence: WorkerPresence;
  id: string;
  database: string;
  held: HeldMaterial[];
}

/** A job that an API still waits for. */
export interface OpenJob extends FormedJob {
  api: number;
  /** What a worker must read of it. */
  content: { database: string; version: number };
}

/** The connections, which serve every run. */
export interface Servers {
  harness: QueueHarness;
  apis: QueueLink[];
  workers: Worker[];
  url: string;
  close(): void;
}

/** One run: what is in Redis is told by `model`, what the processes believe by `workers` and `open`. */
export interface World {
  servers: Servers;
  model: Model;
  open: Map<string, OpenJob>;
  /** Every job that was ever added. */
  contents: Map<string, OpenJob['content']>;
  /** What was held some time ago by who may not have noticed. */
  zombies: HeldMaterial[][];
  /** Numbers of workers whose connection was lost. */
  gone: string[];
  saved: { keys: [key: string, dump: Buffer][]; model: Model } | undefined;
  /** Whether Redis may lose single keys in this run. */
  losesKeys: boolean;
  commands: number;
  /**
   * The machine stood still within a command for as long as a lease lasts, so that some may have run out: no verdict is
   * possible, and the run ends without one.
   */
  isStalled: boolean;
}

export async function openServers(url: string): Promise<Servers> {
  const harness = await openQueueHarness(url);
  const logger = pino({ level: 'silent' });
  const apis = await Promise.all(Array.from({ length: apiCount }, () => openQueueLink(url, logger)));
  const workers = await Promise.all(databases.map((database) => startWorker(url, database)));
  return {
    harness,
    apis,
    workers,
    url,
    close() {
      harness.close();
      for (const api of apis) api.close();
      for (const { redis } of workers) redis.disconnect();
    },
  };
}

export async function startWorker(url: string, database: string): Promise<Worker> {
  const redis = connectWorkerRedis(url, () => undefined, patientMs);
  await untilReady(redis);
  defineScripts(redis);
  const presence = await createWorkerPresence(redis, () => database);
  return { redis, presence, id: String(await redis.client('ID')), database, held: [] };
}

export async function openWorld(servers: Servers, losesKeys: boolean): Promise<World> {
  await servers.harness.redis.flushall();
  for (const worker of servers.workers) {
    worker.held = [];
    await worker.presence.beat();
  }
  return {
    servers,
    model: emptyModel(queues),
    open: new Map(),
    contents: new Map(),
    zombies: [],
    gone: [],
    saved: undefined,
    losesKeys,
    commands: 0,
    isStalled: false,
  };
}

/** What a command touched, and what must be so after it; the model has changed with it. */
export interface Done {
  touched: Iterable<string>;
  judge?: (after: Look) => void;
}

/** The shortest time in which a deadline that was just set may run out. */
const stallMs = 3_900;

/** Runs a part of a command, and judges it by what was there before and after. */
export async function step(world: World, run: (before: Look) => Promise<Done>): Promise<void> {
  if (world.isStalled) return;
  const { redis } = world.servers.harness;
  const before = await look(redis, queues, true);
  const { touched, judge } = await run(before);
  const after = await look(redis, queues, false);
  world.isStalled = after.nowMs - before.nowMs >= stallMs;
  if (world.isStalled) return;
  world.commands += 1;
  expectFrame(world.model, before, after, new Set(touched));
  judge?.(after);
  expectInvariants(world.model, after);
}

export type Command = fc.AsyncCommand<object, World>;

/** A step of a run, shown by its parameters where a run fails. */
export function command(title: string, run: (world: World) => Promise<void>): Command {
  return {
    check: () => true,
    run: (_, world) => (world.isStalled ? Promise.resolve() : run(world)),
    toString: () => title,
  };
}

export function at<T>(list: readonly T[], index: number): T | undefined {
  return list.length === 0 ? undefined : list[index % list.length];
}

export function workerAt({ servers }: World, index: number): Worker {
  const worker = servers.workers[index];
  if (worker === undefined) throw new RangeError(`no worker ${String(index)}`);
  return worker;
}

export function serves({ presence }: Worker): boolean {
  try {
    presence.assertServes();
    return true;
  } catch {
    return false;
  }
}
