import type { ChainableCommander } from 'ioredis';
import { giveBackUntriedOn, readKept, readTaken, releaseIdleOn, takeMaterialsOn } from '../shared/queue/leases.js';
import type { Held } from '../shared/queue/leases.js';
import { applyJobs } from './apply-jobs.js';
import type { WorkerDeps } from './deps.js';
import { fetchJobs } from './fetch-jobs.js';
import type { Job } from './fetch-jobs.js';
import { publishOn } from './reply.js';

/** Materials a cycle holds at most, all folded in one transaction (pipeline §2 "Limits"). */
export const materialsACycleMax = 32;

/** Rows after which a transaction takes no further job; it always takes at least one. */
const rowsATransactionMax = 10_000;

/** A material that another session holds is left alone for this long; then the next sweep makes it ready. */
const lockedRetryMs = 100;

/**
 * One cycle over the materials that a lane holds (pipeline §2.5–2.8): fetch their waiting jobs → apply them in one
 * transaction → reply → finish → let idle materials go, keep those with more, and take others into the room.
 *
 * Replies go out before the finish, and both before the look for more work, in one round trip and in this order: a look
 * that overtook a finish would leave its material hanging until the sweep.
 *
 * @returns what the lane holds after it
 * @throws what Redis or Postgres answers; nothing that was acknowledged is lost by it, and the leases run out
 */
export async function runCycle(deps: WorkerDeps, held: Held, takeMore: boolean): Promise<Held> {
  const { materials, jobs } = await fetchJobs(deps.redis, deps.queues, held.materials);
  const locked = new Set<string>();
  let pipeline = deps.queues.pipeline();
  for (const slice of slices(jobs)) {
    if (pipeline.length > 0) {
      await answersOf(pipeline);
      pipeline = deps.queues.pipeline();
    }
    // A material that one slice found locked must wait whole, or its later jobs would overtake its earlier ones.
    const open = slice.filter(({ queue }) => !locked.has(queue));
    const { outcomes, leftOut } = await applyJobs(deps, open, held);
    // fail-point: after-commit
    for (const queue of leftOut) locked.add(queue);
    const done = open.filter(({ queue }) => !locked.has(queue));
    publishOn(pipeline, done, outcomes);
    for (const { queue, id, token } of done) deps.queues.finishOn(pipeline, queue, id, token);
  }

  const lockedMaterials = materials.filter(({ queue }) => locked.has(queue));
  const workedOff = materials.filter(({ queue }) => !locked.has(queue));
  giveBackUntriedOn(pipeline, lockedMaterials, lockedRetryMs);
  releaseIdleOn(pipeline, workedOff);
  const token = takeMore ? takeMaterialsOn(pipeline, materialsACycleMax - workedOff.length) : undefined;
  const answers = await answersOf(pipeline);
  // fail-point: after-reply
  const taken = token === undefined ? [] : readTaken(token, answers.pop()).materials;
  const kept = readKept(workedOff, answers.pop());
  if (kept.lost > 0)
    deps.logger.warn({ lost: kept.lost }, 'Leases were lost; what was applied under them is on record.');
  return { nowMs: kept.nowMs, readAtMs: kept.readAtMs, materials: [...kept.materials, ...taken] };
}

async function answersOf(pipeline: ChainableCommander): Promise<unknown[]> {
  const answers = (await pipeline.exec()) ?? [];
  return answers.map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** Jobs in their order, cut so that no transaction grows much beyond its bound of rows. */
function slices(jobs: Job[]): Job[][] {
  const cut: Job[][] = [];
  let rows = rowsATransactionMax;
  for (const job of jobs) {
    if (rows >= rowsATransactionMax) {
      cut.push([]);
      rows = 0;
    }
    cut.at(-1)?.push(job);
    rows += job.rowCount;
  }
  return cut;
}
