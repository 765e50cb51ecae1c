import { advanceIn, giveBackUntriedIn, readAdvanced } from '../shared/queue/leases.js';
import type { Held } from '../shared/queue/leases.js';
import { createBatch } from '../shared/redis/batch.js';
import type { Batch } from '../shared/redis/batch.js';
import { applyJobs } from './apply-jobs.js';
import type { WorkerDeps } from './deps.js';
import { readJobs } from './read-jobs.js';
import type { Job } from './read-jobs.js';
import { publishRepliesIn } from './reply.js';

/** Materials a cycle holds at most (pipeline §2 "Limits"). */
export const materialsPerCycleMax = 32;

/**
 * Rows, or their weight in other operations, after which a transaction takes no further job; it always takes at least
 * one.
 */
const rowsPerTransactionMax = 10_000;

/**
 * A cycle begins no further transaction after this long; the rest comes again, before its lane looks stuck (`stuckMs`).
 * It is reached only if Postgres is slow and transactions overstay their time.
 */
export const cycleMsMax = 20_000;

/** A material that was left out is left alone for this long; then the next sweep makes it ready. */
const leftOutRetryMs = 100;

/**
 * One cycle over the materials that a lane holds (pipeline §2.5–2.8): apply their jobs in one transaction (in several
 * where they have more rows than one takes) → reply → finish them, let idle materials go, keep those with more, take
 * others while there is room, and fetch the jobs of all.
 *
 * Everything after the last transaction is one round trip, in this order. Finishing, letting go and taking more are one
 * script, so that nothing can come between finishing a job and looking for the next.
 *
 * @param goesOn whether the lane goes on after this cycle; asked anew each time, because a transaction may take long
 * @returns what the lane holds after it
 * @throws what Redis or Postgres answers; nothing that was acknowledged is lost by it, and the leases run out
 */
export async function runCycle(deps: WorkerDeps, held: Held, goesOn: () => boolean): Promise<Held> {
  /** Queues of the materials left out so far. */
  const leftOut = new Set<string>();
  const finished = new Map<string, string[]>(held.materials.map(({ queue }) => [queue, []]));
  const endMs = performance.now() + cycleMsMax;
  let batch = createBatch(deps.redis);
  for (const slice of slices(readJobs(held.materials, deps.presence.database()))) {
    if (batch.size() > 0) {
      await answersOf(batch);
      batch = createBatch(deps.redis);
    }
    // A material that an earlier slice left out must wait whole, or its later jobs would overtake its earlier ones.
    const jobs = slice.filter(({ queue }) => !leftOut.has(queue));
    const applied = await applyJobs(deps, jobs, { ...held, goesOn, endMs });
    // fail-point: after-commit
    for (const queue of applied.leftOut) leftOut.add(queue);
    const done = jobs.filter(({ queue }) => !leftOut.has(queue));
    publishRepliesIn(batch, done, applied.outcomes);
    for (const { queue, id } of done) finished.get(queue)?.push(id);
  }

  giveBackUntriedIn(
    batch,
    held.materials.filter(({ queue }) => leftOut.has(queue)),
    leftOutRetryMs,
  );
  const worked = held.materials
    .filter(({ queue }) => !leftOut.has(queue))
    .map(({ queue, token }) => ({ queue, token, finished: finished.get(queue) ?? [] }));
  deps.watchLeftOut(leftOut, worked);
  const sent = advanceIn(batch, deps.presence, worked, goesOn() ? materialsPerCycleMax : 0);
  const answers = await answersOf(batch);
  // fail-point: after-reply
  const { lost, ...next } = readAdvanced(sent, worked, answers.pop());
  deps.metrics.leasesLost(lost);
  if (lost > 0) deps.logger.warn({ lost }, 'Leases were lost; what was applied under them is on record.');
  return next;
}

async function answersOf(batch: Batch): Promise<unknown[]> {
  const answers = await batch.send();
  return answers.map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** Jobs in their order, cut so that no transaction grows much beyond its bound of rows. */
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
