import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName } from '../../shared/queue/names.js';
import { addScript, runScript } from '../../shared/queue/run-script.js';
import type { QueueLink } from './queue-link.js';
import type { FormedJob } from './waiter.js';

/**
 * What became of an enqueue. Only if nothing was written to Redis is it certain that the job is not in the queue; after
 * any other error it may be.
 */
export type Enqueued = 'queued' | 'not-queued' | 'uncertain';

/**
 * Adds jobs and announces their materials in one transaction: a connection that breaks in between must not leave a job
 * of which no worker hears (pipeline §2.3). Repeating it for the same jobs changes nothing. Jobs of several materials
 * share a transaction, because one for each job took a third of this process's time.
 *
 * @param databaseIdentity of the database they are meant for; undefined while it is unknown
 */
export async function enqueueJobs(
  link: QueueLink,
  jobs: FormedJob[],
  databaseIdentity: string | undefined,
): Promise<Enqueued> {
  const { redis, queues, apiId, enqueuing } = link;
  if (redis.status !== 'ready') return 'not-queued';
  try {
    const transaction = link.transaction();
    for (const { id, ref, open } of jobs) {
      const operations = [...open].map(({ operation }) => operation);
      queues.addIn(transaction, ref, id, operationsJob(apiId, operations, databaseIdentity));
    }
    addScript(transaction, 'rmAnnounce', ...jobs.map(({ ref }) => queueName(ref)));
    const answers = await transaction.exec();
    // fail-point: after-add
    if (answers.some(([error]) => isScriptGone(error))) redis.disconnect(true);
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
 * Whether Redis has forgotten a script that it was sent before (SCRIPT FLUSH, a fail-over behind a proxy, too many
 * scripts of others). ioredis sends the text again only if the answer to the command itself says so, and within a
 * transaction that answer is QUEUED. Every transaction would fail until we connect anew.
 */
function isScriptGone(error: Error | null): boolean {
  return error?.message.startsWith('NOSCRIPT') === true;
}

/**
 * Announces the materials of those jobs that are still in their queues.
 *
 * @returns the jobs that are `missing` there, and those that are not in line because they were `taken`: a lane has
 *   their material, or has left it out for a moment
 */
export async function announceQueued(
  { redis }: QueueLink,
  jobs: FormedJob[],
): Promise<{ missing: FormedJob[]; taken: FormedJob[] }> {
  const pairs = jobs.flatMap(({ ref, id }) => [queueName(ref), id]);
  const found = (await runScript(redis, 'rmAnnounceQueued', ...pairs)) as number[];
  const whose = (state: number) => jobs.filter((_, index) => found[index] === state);
  return { missing: whose(0), taken: whose(2) };
}
