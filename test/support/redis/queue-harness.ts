import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { MaterialRef, Operation } from '../../../shared/domain/operation.js';
import { operationsJob } from '../../../shared/queue/job-format.js';
import type { OperationsJob } from '../../../shared/queue/job-format.js';
import { createMaterialQueues } from '../../../shared/queue/material-queues.js';
import type { MaterialQueues } from '../../../shared/queue/material-queues.js';
import { advanceIn, readAdvanced, takeMaterials } from '../../../shared/queue/leases.js';
import type { HeldMaterial, WorkedMaterial } from '../../../shared/queue/leases.js';
import { keys, queueName, queuePrefix } from '../../../shared/queue/names.js';
import { addScript, defineScripts, runScript } from '../../../shared/queue/run-script.js';
import { createBatch, createTransaction } from '../../../shared/redis/batch.js';
import { connectWorkerRedis, untilReady } from '../../../shared/redis/connections.js';
import { startTestRedis } from '../processes/servers.js';
import type { TestRedis } from '../processes/servers.js';

/** A taker whose leases nobody finds abandoned: they only run out. */
const taker = { newToken: () => randomUUID(), answerLost: () => undefined };

/** What a cycle takes at most. */
const takenMax = 32;

/** A worker gives a silent Redis up sooner than a test should that waits for its server's turn on a core or a disk. */
export const patientMs = 30_000;

/** The queue on a Redis, as a worker and an API process have it, for tests that take one step at a time. */
export interface QueueHarness {
  redis: Redis;
  queues: MaterialQueues;
  /** Adds a job, announced or not, and returns its id. */
  add(ref: MaterialRef, options?: AddOptions): Promise<string>;
  announce(ref: MaterialRef): Promise<unknown>;
  /** Takes what is ready, with its jobs. */
  take(max?: number): Promise<HeldMaterial[]>;
  /**
   * Finishes what was done, lets idle materials go, and takes others until so many are held; by default none. Its time
   * stands still at this step, so that a test can compare a deadline with it.
   */
  advance(worked: WorkedMaterial[], max?: number): Promise<ReturnType<typeof readAdvanced>>;
  /** Ready materials of a shop, the one that is next first. */
  ready(shopId: number): Promise<string[]>;
  /** As if the lease of a material, or its turn, had run out. */
  runOut(queue: string): Promise<unknown>;
  sweep(): Promise<unknown>;
  /** Ids of the jobs in a list of the material's queue, the one that is next first. */
  jobs(ref: MaterialRef, list: 'wait' | 'active'): Promise<string[]>;
  close(): void;
}

export interface AddOptions {
  id?: string;
  operations?: Operation[];
  job?: OperationsJob;
  isAnnounced?: boolean;
}

/** That of a suite on a Redis of its own, which the suite may kill and restart. */
export interface OwnQueueHarness extends QueueHarness {
  server: TestRedis;
}

/** For the suite it is called in, from its first hook on; empty before each test. */
export function useQueueHarness(): OwnQueueHarness {
  const own = {} as OwnQueueHarness;
  before(async () => {
    const server = await startTestRedis();
    Object.assign(own, await openQueueHarness(server.url), { server });
  });
  after(async () => {
    own.close();
    await own.server.stop();
  });
  // A test before may have restarted the server: commands are refused, not kept, until the connection is back.
  beforeEach(async () => {
    await untilReady(own.redis);
    await own.server.flush();
  });
  return own;
}

export async function openQueueHarness(redisUrl: string): Promise<QueueHarness> {
  const onError = () => undefined;
  const redis = connectWorkerRedis(redisUrl, onError, patientMs);
  await untilReady(redis);
  defineScripts(redis);
  const queues = await createMaterialQueues(redis, onError);
  return {
    redis,
    queues,
    async add(ref, { id = randomUUID(), operations = [], job, isAnnounced = true } = {}) {
      const transaction = createTransaction(redis);
      queues.addIn(transaction, ref, id, job ?? operationsJob('test', operations));
      if (isAnnounced) addScript(transaction, 'rmAnnounce', queueName(ref));
      const answers = await transaction.exec();
      for (const [error] of answers) if (error !== null) throw error;
      return id;
    },
    announce: (ref) => runScript(redis, 'rmAnnounce', queueName(ref)),
    take: async (max = takenMax) => (await takeMaterials(redis, taker, max)).materials,
    async advance(worked, max = 0) {
      const batch = createBatch(redis);
      const sent = advanceIn(batch, taker, worked, max);
      const [[error, answer] = [null, undefined]] = await batch.send();
      if (error !== null) throw error;
      return readAdvanced({ ...sent, sinceSentMs: () => 0 }, answer);
    },
    ready: (shopId) => redis.lrange(`${keys.ready}:${String(shopId)}`, 0, -1),
    runOut: (queue) => redis.zadd(keys.scheduled, 1, queue),
    sweep: () => runScript(redis, 'rmSweep', 100),
    // New jobs come in on the left, and the next is taken on the right; active holds the newest on the left.
    jobs: async (ref, list) => (await redis.lrange(`${queuePrefix}:${queueName(ref)}:${list}`, 0, -1)).reverse(),
    close: () => {
      redis.disconnect();
    },
  };
}

/** What a lane says of a material when it has done its jobs, or the first `count` of them. */
export function workedOff({ queue, token, jobs }: HeldMaterial, count = jobs.length): WorkedMaterial {
  return { queue, token, finished: jobs.slice(0, count).map(({ id }) => id) };
}
