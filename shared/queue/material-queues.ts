import { createRedisBackend, Job, Queue, QueueKeys } from 'bullmq';
import type { Redis } from 'ioredis';
import type { MaterialRef } from '../domain/operation.js';
import type { OperationsJob } from './job-format.js';
import { queueName, queuePrefix } from './names.js';
import type { CommandBatch } from './run-script.js';

/**
 * BullMQ's queues, one for each material, all on one connection. Whatever depends on BullMQ's internals is in this
 * folder; `test/pipeline/bullmq-layout.test.ts` fails if a new version changes them.
 */
export interface MaterialQueues {
  /** Adds a job, in a transaction on this connection. Adding the same id again changes nothing. */
  addIn(transaction: CommandBatch, ref: MaterialRef, id: string, job: OperationsJob): void;
}

/**
 * In Redis a queue is only its keys, and BullMQ adds a job to the queue whose keys it is given (its flows need that).
 * So one `Queue` object serves all materials. With an object for each, of which the thousand busiest were kept, a shop
 * with 10,000 materials made a new one in nearly every request: 12 µs, and 7.3 KB that outlived all but full
 * collections. The backend in each has getters of its own, so V8 makes a hidden class for it, which is born old and
 * points to it (as with the pipelines of ioredis, redis/batch.ts).
 *
 * @param redis connected: BullMQ asks it once for its version
 */
export async function createMaterialQueues(redis: Redis, onError: (error: Error) => void): Promise<MaterialQueues> {
  // Without `skipMetasUpdate` it would write BullMQ's version into a hash of a queue that does not exist.
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

function scriptsIn(transaction: CommandBatch) {
  return {
    runCommand(name: string, args: unknown[]): void {
      transaction.add((redis) => (Reflect.get(redis, name) as Script).call(redis, args));
    },
  };
}
