import { recordFailed } from '../shared/database/operations.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import { jobVersion } from '../shared/queue/job-format.js';
import { materialOfQueue, queueName } from '../shared/queue/names.js';
import { applyInParts, leftOutAll } from './apply-in-parts.js';
import type { AppliedJobs } from './apply-in-parts.js';
import { applyWithRetries, mayPass, sumOfJobs } from './apply-with-retries.js';
import type { CycleLimits, JobGroup } from './apply-with-retries.js';
import type { LaneDeps } from './lane-deps.js';
import type { Job } from './read-jobs.js';

/**
 * A job with more has killed its workers or met endless faults. Its operations are recorded as failed, never dropped.
 */
const deliveriesMax = 25;

/**
 * Applies the operations of these jobs in one transaction, in their order (pipeline §2.6), or in several if one takes
 * too long. If that fails and not by a transient fault, one of the operations is to blame. Then each runs alone: one
 * that fails twice is recorded as failed, and the others are applied (pipeline §3 "Poison").
 *
 * @throws a transient fault that did not pass; nothing is lost, because the jobs are still in their queues
 */
export async function applyJobs(deps: LaneDeps, jobs: Job[], limits: CycleLimits): Promise<AppliedJobs> {
  const misdirected: JobOfOurs[] = [];
  const exhausted: JobOfOurs[] = [];
  const sound: JobOfOurs[] = [];
  for (const job of jobs) {
    if (!hasContent(job))
      deps.logger.error({ queue: job.queue, job: job.id }, 'A job holds nothing of ours and is removed.');
    else if (job.isMisdirected) misdirected.push(job);
    else if (isSound(job)) sound.push(job);
    else exhausted.push(job);
  }
  const groups = groupByMaterial(sound);
  const refused = refuse(deps, misdirected);
  const failed = await failGroups(
    deps,
    groupByMaterial(exhausted),
    'its deliveries are exhausted, or its version is unknown',
    limits,
  );
  const isOver = exhausted.length > 0 && limits.isStopping();
  const applied = isOver ? [leftOutAll(groups)] : await applySound(deps, groups, limits);
  return merge([refused, ...failed, ...applied]);
}

type JobOfOurs = Job & { content: NonNullable<Job['content']> };

function hasContent(job: Job): job is JobOfOurs {
  return job.content !== undefined;
}

function isSound({ content, deliveries }: JobOfOurs): boolean {
  return content.version === jobVersion && deliveries <= deliveriesMax;
}

/** Nothing of these goes on record here: their API is told, and cancels them in the database they are meant for. */
function refuse(deps: LaneDeps, misdirected: JobOfOurs[]): AppliedJobs {
  for (const { queue, id } of misdirected) {
    deps.logger.error({ queue, job: id }, 'A job is meant for another database and is removed.');
  }
  const ids = misdirected.flatMap(({ content }) => content.operations.map((operation) => operation.id));
  return { outcomes: new Map(ids.map((id) => [id, { status: 'misdirected' }])), leftOut: new Set() };
}

function groupByMaterial(jobs: JobOfOurs[]): JobGroup[] {
  const groups = new Map<string, JobGroup>();
  for (const { queue, content } of jobs) {
    const group = groups.get(queue) ?? { jobs: 0, operations: [], ...materialOfQueue(queue) };
    groups.set(queue, group);
    group.jobs += 1;
    group.operations.push(...content.operations);
  }
  return [...groups.values()];
}

async function applySound(deps: LaneDeps, groups: JobGroup[], limits: CycleLimits): Promise<AppliedJobs[]> {
  try {
    return [await applyInTime(deps, groups, limits)];
  } catch (error) {
    if (mayPass(error)) throw error;
    deps.logger.error({ err: error, jobs: sumOfJobs(groups) }, 'A cycle failed; its operations run one at a time.');
    return applyOneByOne(deps, groups, limits);
  }
}

function applyInTime(deps: LaneDeps, groups: JobGroup[], limits: CycleLimits): Promise<AppliedJobs> {
  return applyInParts(groups, { ...limits, apply: (part) => applyWithRetries(deps, part, limits) });
}

async function applyOneByOne(deps: LaneDeps, groups: JobGroup[], limits: CycleLimits): Promise<AppliedJobs[]> {
  const results: AppliedJobs[] = [];
  for (const [index, group] of groups.entries()) {
    for (const operation of group.operations) {
      if (limits.isStopping()) return [...results, leftOutAll(groups.slice(index))];
      const result = await applyAlone(deps, { ...group, jobs: 1, operations: [operation] }, limits);
      results.push(result);
      // Later operations of the material must not overtake the one that was left out.
      if (result.leftOut.size > 0) break;
    }
  }
  return results;
}

/**
 * Applies one operation; one that fails twice is recorded as failed, unless the lane is to stop in between. One that
 * overstays its time, or the cycle's, is left out here too: thrown, it would end the cycle, in every delivery, before
 * the operation that is at fault had its turn.
 */
async function applyAlone(deps: LaneDeps, alone: JobGroup, limits: CycleLimits): Promise<AppliedJobs> {
  try {
    return await applyInTime(deps, [alone], limits);
  } catch (first) {
    if (mayPass(first)) throw first;
    if (limits.isStopping()) return leftOutAll([alone]);
    try {
      return await applyInTime(deps, [alone], limits);
    } catch (second) {
      if (mayPass(second)) throw second;
      return failGroup(deps, alone, second);
    }
  }
}

async function failGroups(
  deps: LaneDeps,
  groups: OperationGroup[],
  cause: unknown,
  { isStopping }: CycleLimits,
): Promise<AppliedJobs[]> {
  const results: AppliedJobs[] = [];
  for (const [index, group] of groups.entries()) {
    const isOver = index > 0 && isStopping();
    results.push(isOver ? leftOutAll([group]) : await failGroup(deps, group, cause));
  }
  return results;
}

/** A material whose operations cannot even be recorded as failed is left out, so that the others are applied. */
async function failGroup(deps: LaneDeps, group: OperationGroup, cause: unknown): Promise<AppliedJobs> {
  const { shopId, materialId } = group;
  const operations = group.operations.map(({ id }) => ({ shopId, materialId, id }));
  deps.logger.error({ err: cause, operations }, 'Operations are recorded as failed.');
  try {
    const { outcomes, leftOut } = await recordFailed(deps.database, operations);
    deps.metrics.failed(operations.filter(({ id }) => outcomes.get(id)?.status === 'failed').length);
    return { outcomes, leftOut: new Set(leftOut.map(queueName)) };
  } catch (error) {
    if (mayPass(error)) throw error;
    deps.logger.error({ err: error, operations }, 'Operations could not be recorded as failed.');
    return leftOutAll([group]);
  }
}

function merge(results: AppliedJobs[]): AppliedJobs {
  return {
    outcomes: new Map(results.flatMap(({ outcomes }) => [...outcomes])),
    leftOut: new Set(results.flatMap(({ leftOut }) => [...leftOut])),
  };
}
