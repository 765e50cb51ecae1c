import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName } from '../../shared/queue/names.js';
import { addScript, runScript } from '../../shared/queue/run-script.js';
import type { QueueLink } from './queue-link.js';
import type { FormedJob } from './waiter.js';

/**
 * What became of an enqueue. Only a command that was never written is certain not to have run: after any other error
 * the job may stand in the queue.
 */
export type Enqueued = 'queued' | 'not-queued' | 'uncertain';

/**
 * Adds jobs and announces their materials in one transaction, so that no cut leaves a job that nobody looks for
 * (pipeline §2.3). Repeating it for the same jobs changes nothing. Jobs sent in one turn of the event loop share a
 * transaction: one for each job took a third of this process's time.
 *
 * @param database the one they are to be applied to, as far as it is known
 */
export async function enqueue(link: QueueLink, jobs: FormedJob[], database: string | undefined): Promise<Enqueued> {
  const { redis, queues, apiId, enqueuing } = link;
  if (redis.status !== 'ready') return 'not-queued';
  try {
    const transaction = link.transaction();
    for (const { id, ref, open } of jobs) {
      const operations = [...open].map(({ operation }) => operation);
      queues.addIn(transaction, ref, id, operationsJob(apiId, operations, database));
    }
    addScript(transaction, 'rmAnnounce', ...jobs.map(({ ref }) => queueName(ref)));
    const answers = await transaction.exec();
    // fail-point: after-add
    if (answers?.some(([error]) => isScriptGone(error)) === true) redis.disconnect(true);
    if (answers === null) return 'uncertain';
    const [error] = answers.find(([each]) => each !== null) ?? [null];
    if (error !== null) throw error;
    enqueuing.passed();
    return 'queued';
  } catch (error) {
    enqueuing.failed(error);
    return 'uncertain';
  }
}

/**
 * Redis has forgotten a script that it was sent before (SCRIPT FLUSH, a fail-over behind a proxy, too many scripts of
 * others). ioredis sends the text again only if the answer to the command itself says so. In a transaction that answer
 * is QUEUED, so every transaction would fail until we connect anew.
 */
function isScriptGone(error: Error | null): boolean {
  return error?.message.startsWith('NOSCRIPT') === true;
}

/** Announces the materials of those jobs that still stand in their queues, and says which do not. */
export async function announceQueued({ redis }: QueueLink, jobs: FormedJob[]): Promise<FormedJob[]> {
  const pairs = jobs.flatMap(({ ref, id }) => [queueName(ref), id]);
  const found = (await runScript(redis, 'rmAnnounceQueued', ...pairs)) as number[];
  return jobs.filter((_, index) => found[index] !== 1);
}
