import { createRedisBackend, Job, Queue, QueueKeys } from 'bullmq';
import type { Redis } from 'ioredis';
import type { MaterialRef } from '../domain/operation.js';
import type { OperationsJob } from './job-format.js';
import { queueName, queuePrefix } from './names.js';
import type { Gathering } from './run-script.js';

/**
 * BullMQ's queues, one for each material, all on one connection. What leans on BullMQ's insides is in this folder;
 * `test/pipeline/bullmq-layout.test.ts` fails when a new version moves them.
 */
export interface MaterialQueues {
  /** Adds to a transaction of this connection the command that adds a job; adding the same id again changes nothing. */
  addIn(transaction: Gathering, ref: MaterialRef, id: string, job: OperationsJob): void;
}

/**
 * To Redis a queue is its keys, and BullMQ adds a job to the queue whose keys it is given, as its flows require. So one
 * object serves them all. With an object for each material and the thousand busiest kept, a shop of 10,000 made one
 * with nearly every request: 12 µs, and 7.3 KB that outlived all but full collections. The backend in each has getters
 * of its own, whose hidden class is born old and points at it (like the pipelines of ioredis, redis/batch.ts).
 *
 * @param redis connected: BullMQ asks it once for its version
 */
export async function createMaterialQueues(redis: Redis, onError: (error: Error) => void): Promise<MaterialQueues> {
  // Without `skipMetasUpdate` it would write its version into a hash that is nobody's.
  const options = { connection: redis, prefix: queuePrefix, skipMetasUpdate: true };
  const anyQueue = new Queue<OperationsJob, void, string>('any', options, createRedisBackend);
  anyQueue.on('error', onError);
  // From here on the connection knows BullMQ's scripts.
  await anyQueue.waitUntilReady();
  const backend = anyQueue.getBackend();
  const queueKeys = new QueueKeys(queuePrefix);

  return {
    addIn(transaction, ref, id, data) {
      const job = new Job(anyQueue, 'operations', data, { removeOnComplete: true, removeOnFail: true }, id);
      // BullMQ only runs one script on the transaction that it is given, at once, and does not look at the answer.
      const scripts = scriptsIn(transaction) as never;
      void backend.addJobToTransaction(scripts, job.asJSON(), id, {}, queueKeys.getKeys(queueName(ref)));
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
