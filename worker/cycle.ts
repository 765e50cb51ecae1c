import { hasExpired } from '../shared/inventory/time-limits.js';
import { advanceIn, dropJobsIn, giveBackUncountedIn, readAdvanced } from '../shared/queue/leases.js';
import type { Held } from '../shared/queue/leases.js';
import { materialsPerCycleMax, rowsPerTransactionMax } from '../shared/queue/limits.js';
import { createBatch } from '../shared/redis/batch.js';
import type { Batch } from '../shared/redis/batch.js';
import { applyJobs } from './apply-jobs.js';
import { createCycleLimits } from './cycle-limits.js';
import type { LaneDeps } from './lane-deps.js';
import { publishRepliesIn } from './publish-replies.js';
import { readJobs } from './read-jobs.js';
import type { Job } from './read-jobs.js';

/** A material that was left out becomes ready again after this, with the next sweep. */
const leftOutRetryMs = 100;

/**
 * One cycle over the materials that a lane holds (pipeline §2.5–2.8): apply their jobs in one transaction (in several
 * if they have more rows than one takes) → reply → finish the jobs, let go of materials without more, keep the others,
 * take new ones while there is room, and fetch the jobs of all.
 *
 * Everything after the last transaction is one round trip, in this order. From finishing the jobs on it is one script,
 * so that nothing can happen between finishing a job and looking for the next.
 *
 * @param isStopping whether the lane ends after this cycle; asked each time it matters, since a transaction may take
 *   long. Then the one under way is the last, and the rest goes back
 * @returns what the lane holds after it
 * @throws errors of Redis or Postgres; nothing that was acknowledged is lost by them, and the leases run out
 */
export async function runCycle(deps: LaneDeps, held: Held, isStopping: () => boolean): Promise<Held> {
  /** Queues of the materials that were left out so far. */
  const leftOut = new Set<string>();
  const limits = createCycleLimits({ nowMs: held.nowMs, isStopping });
  let batch = createBatch(deps.redis);
  const all = readJobs(held.materials, deps.presence.databaseIdentity());
  for (const slice of slices(all)) {
    if (batch.size() > 0) {
      await answersOf(batch);
      batch = createBatch(deps.redis);
    }
    // All jobs of a material that an earlier slice left out must wait, or they would overtake that slice's.
    const jobs = slice.filter(({ queue }) => !leftOut.has(queue));
    const report = await applyJobs(deps, jobs, limits);
    // fail-point: after-commit
    for (const queue of report.leftOut) leftOut.add(queue);
    // Also to those on a material that was left out, where some of the operations are on record.
    publishRepliesIn(batch, jobs, report.outcomes);
  }

  const leftOutMaterials = held.materials.filter(({ queue }) => leftOut.has(queue));
  const nowMs = held.nowMs();
  const expired = all.filter((job) => leftOut.has(job.queue) && isExpired(job, nowMs));
  if (expired.length > 0) deps.logger.info({ jobs: expired.length }, 'Jobs expired while their material was left out.');
  dropJobsIn(batch, expired);
  giveBackUncountedIn(batch, leftOutMaterials, isStopping() ? 0 : leftOutRetryMs);
  const worked = held.materials
    .filter(({ queue }) => !leftOut.has(queue))
    .map(({ queue, token, jobs }) => ({ queue, token, finished: jobs.map(({ id }) => id) }));
  deps.warnOfLeftOut(leftOut, worked);
  const sent = advanceIn(batch, deps.presence, worked, isStopping() ? 0 : materialsPerCycleMax);
  const answers = await answersOf(batch).catch((error: unknown) => {
    deps.presence.answerLost(sent.token);
    throw error;
  });
  // fail-point: after-reply
  const { lost, ...next } = readAdvanced(sent, answers.pop());
  deps.metrics.leasesLost(lost);
  if (lost > 0) deps.logger.warn({ lost }, 'Leases were lost; what was applied under them is on record.');
  return next;
}

/**
 * Whether nobody may apply a job any more. While another session holds its material, nothing of it can be put on record
 * either: such jobs would pile up in Redis for as long as it does, and be fetched several times a second.
 */
function isExpired({ content }: Job, nowMs: number): boolean {
  return content?.operations.every((operation) => hasExpired(operation, nowMs)) === true;
}

async function answersOf(batch: Batch): Promise<unknown[]> {
  const answers = await batch.send();
  return answers.map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** The jobs of each transaction, in their order: none weighs much more than the bound. */
function slices(jobs: Job[]): Job[][] {
  const cut: Job[][] = [];
  let rows = rowsPerTransactionMax;
  for (const job of jobs) {
    if (rows >= rowsPerTransactionMax) {
      cut.push([]);
      rows = 0;
    }
    cut.at(-1)?.push(job);
    rows += job.weight;
  }
  return cut;
}
