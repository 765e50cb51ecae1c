import { createRedisBackend, Job, Queue } from 'bullmq';
import type { IQueueBackend } from 'bullmq';
import type { ChainableCommander, Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { MaterialRef } from '../domain/operation.js';
import type { OperationsJob } from './job-format.js';
import { queueName, queuePrefix } from './names.js';

/**
 * BullMQ's queues, one for each material, all on one connection: BullMQ takes a factory for the backend of a queue, and
 * one backend makes siblings that share its connection (10,000 queues: 172 ms and one command, against 20,001 commands
 * and 10,002 listeners for the documented way; bullmq.md §2). Everything that leans on BullMQ's insides is in this file;
 * `test/pipeline/bullmq-layout.test.ts` fails when a new version moves them.
 */
export interface MaterialQueues {
  /** Queues the commands that add a job on a transaction of this connection; adding the same id again changes nothing. */
  addTo(transaction: ChainableCommander, ref: MaterialRef, id: string, job: OperationsJob): void;
  /** A transaction that BullMQ can write to. */
  transaction(): ChainableCommander;
  /** Likewise a pipeline, for `finishOn`. */
  pipeline(): ChainableCommander;
  /** Moves, for each wish, the oldest waiting job of its queue to active, locked by its token; undefined where none waits. */
  fetch(wishes: { queue: string; token: string }[]): Promise<(FetchedJob | undefined)[]>;
  /** Queues the command that completes and removes an active job. A lost lock leaves it in active, for its next owner. */
  finishOn(pipeline: ChainableCommander, queue: string, jobId: string, token: string): void;
}

export interface FetchedJob {
  id: string;
  data: string;
  /** How often the job was handed out, this time included. */
  deliveries: number;
}

/** BullMQ's lock on a job: well above the lease, which is the lock that counts, and the longest cycle. */
const lockMs = 60_000;
/** A queue takes 6 KB and is made in 12 µs, of some 560 that a request costs: only the busy ones are worth keeping. */
const queuesKeptMax = 1_000;

/** @param redis connected: BullMQ asks it once for its version */
export async function createMaterialQueues(redis: Redis, onError: (error: Error) => void): Promise<MaterialQueues> {
  // Siblings copy the root's options, so the length of a lock belongs here (bullmq.md, "Further facts").
  const options = { connection: redis, prefix: queuePrefix, lockDuration: lockMs };
  const root = createRedisBackend('root', options);
  root.on('error', onError);
  const client = await root.client;
  const sibling = (name: string) => root.forQueue(name, queuePrefix);

  const consumers = new LRUCache<string, ConsumerBackend>({
    max: queuesKeptMax,
    memoMethod: (name) => sibling(name) as unknown as ConsumerBackend,
  });
  const producers = new LRUCache<string, MaterialQueue>({
    max: queuesKeptMax,
    // Without `skipMetasUpdate` each queue would write its version into a hash that outlives its jobs.
    memoMethod: (name) =>
      new Queue(name, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true }, () => sibling(name)),
  });

  return {
    transaction: () => client.multi() as unknown as ChainableCommander,
    pipeline: () => client.pipeline() as unknown as ChainableCommander,
    addTo(transaction, ref, id, data) {
      const queue = producers.memo(queueName(ref));
      const job = new Job(queue, 'operations', data, { removeOnComplete: true, removeOnFail: true }, id);
      // It is queued on the transaction at once; the promise says nothing before EXEC has.
      void job.addJob(transaction as never);
    },
    fetch(wishes) {
      // BullMQ sends one command a job; uncorked after this turn they leave in one write instead of one each, which was a
      // sixth of a worker's time.
      redis.stream.cork();
      process.nextTick(() => {
        redis.stream.uncork();
      });
      return Promise.all(
        wishes.map(async ({ queue, token }) => {
          const [job, id] = await consumers.memo(queue).moveToActive(token, '');
          return job === null ? undefined : { id, data: job.data, deliveries: job.attemptsStarted };
        }),
      );
    },
    finishOn(pipeline, queue, jobId, token) {
      const backend = consumers.memo(queue);
      // An empty return value: BullMQ would copy it into the queue's event stream.
      const finished = { id: jobId, opts: { attempts: 0 } };
      const args = backend.moveToCompletedArgs(finished, '""', true, token, false);
      backend.execCommand(pipeline, 'moveToFinished', args);
    },
  };
}

/** A queue whose backend is a sibling of the root's. */
type MaterialQueue = Queue<OperationsJob, void, string, OperationsJob, void, string, IQueueBackend>;

/** What BullMQ's Redis backend offers a consumer; its own types do not promise that a sibling is one. */
interface ConsumerBackend {
  moveToActive: (
    token: string,
    worker: string,
  ) => Promise<[job: { data: string; attemptsStarted: number } | null, id: string]>;
  moveToCompletedArgs: (
    job: { id: string; opts: { attempts: number } },
    returnValue: string,
    removeOnComplete: boolean,
    token: string,
    fetchNext: boolean,
  ) => unknown[];
  execCommand: (pipeline: ChainableCommander, command: string, args: unknown[]) => unknown;
}
