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
 * and 10,002 listeners for the documented way; bullmq.md §2). What leans on BullMQ's insides is in this folder;
 * `test/pipeline/bullmq-layout.test.ts` fails when a new version moves them.
 */
export interface MaterialQueues {
  /** Queues the commands that add a job on a transaction of this connection; adding the same id again changes nothing. */
  addTo(transaction: ChainableCommander, ref: MaterialRef, id: string, job: OperationsJob): void;
  /** A transaction that BullMQ can write to. */
  transaction(): ChainableCommander;
}

/** A queue takes 6 KB and is made in 12 µs, of some 560 that a request costs: only the busy ones are worth keeping. */
const queuesKeptMax = 1_000;

/** @param redis connected: BullMQ asks it once for its version */
export async function createMaterialQueues(redis: Redis, onError: (error: Error) => void): Promise<MaterialQueues> {
  const options = { connection: redis, prefix: queuePrefix };
  const root = createRedisBackend('root', options);
  root.on('error', onError);
  const client = await root.client;
  const producers = new LRUCache<string, MaterialQueue>({
    max: queuesKeptMax,
    // Without `skipMetasUpdate` each queue would write its version into a hash that outlives its jobs.
    memoMethod: (name) =>
      new Queue(name, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true }, () =>
        root.forQueue(name, queuePrefix),
      ),
  });

  return {
    transaction: () => client.multi() as unknown as ChainableCommander,
    addTo(transaction, ref, id, data) {
      const queue = producers.memo(queueName(ref));
      const job = new Job(queue, 'operations', data, { removeOnComplete: true, removeOnFail: true }, id);
      // It is queued on the transaction at once; the promise says nothing before EXEC has.
      void job.addJob(transaction as never);
    },
  };
}

/** A queue whose backend is a sibling of the root's. */
type MaterialQueue = Queue<OperationsJob, void, string, OperationsJob, void, string, IQueueBackend>;
