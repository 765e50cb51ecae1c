import { createRedisBackend, Job, Queue } from 'bullmq';
import type { IQueueBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { MaterialRef } from '../domain/operation.js';
import type { OperationsJob } from './job-format.js';
import { queueName, queuePrefix } from './names.js';
import type { Gathering } from './run-script.js';

/**
 * BullMQ's queues, one for each material, all on one connection: BullMQ takes a factory for the backend of a queue, and
 * one backend makes siblings that share its connection (10,000 queues: 172 ms and one command, against 20,001 commands
 * and 10,002 listeners for the documented way; bullmq.md §2). What leans on BullMQ's insides is in this folder;
 * `test/pipeline/bullmq-layout.test.ts` fails when a new version moves them.
 */
export interface MaterialQueues {
  /** Adds the command that adds a job to a transaction of this connection; adding the same id again changes nothing. */
  addIn(transaction: Gathering, ref: MaterialRef, id: string, job: OperationsJob): void;
}

/** A queue takes 6 KB and is made in 12 µs, of some 560 that a request costs: only the busy ones are worth keeping. */
const queuesKeptMax = 1_000;

/** @param redis connected: BullMQ asks it once for its version */
export async function createMaterialQueues(redis: Redis, onError: (error: Error) => void): Promise<MaterialQueues> {
  const options = { connection: redis, prefix: queuePrefix };
  const root = createRedisBackend('root', options);
  root.on('error', onError);
  // From here on the connection knows BullMQ's scripts.
  await root.client;
  const producers = new LRUCache<string, MaterialQueue>({
    max: queuesKeptMax,
    // Without `skipMetasUpdate` each queue would write its version into a hash that outlives its jobs.
    memoMethod: (name) =>
      new Queue(name, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true }, () =>
        root.forQueue(name, queuePrefix),
      ),
  });

  return {
    addIn(transaction, ref, id, data) {
      const queue = producers.memo(queueName(ref));
      const job = new Job(queue, 'operations', data, { removeOnComplete: true, removeOnFail: true }, id);
      // All that BullMQ does with a transaction is to run a script on it, at once; that its answer is none yet is nothing to it.
      void job.addJob(scriptsIn(transaction) as never);
    },
  };
}

type Script = (args: unknown[]) => Promise<unknown>;

function scriptsIn(transaction: Gathering) {
  return {
    runCommand(name: string, args: unknown[]): void {
      transaction.add((redis) => (Reflect.get(redis, name) as Script).call(redis, args));
    },
  };
}

/** A queue whose backend is a sibling of the root's. */
type MaterialQueue = Queue<OperationsJob, void, string, OperationsJob, void, string, IQueueBackend>;
