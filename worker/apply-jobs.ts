import { isInfrastructureError, isLostName, isOverstay, isTimeout } from '../shared/database/errors.js';
import { recordFailed } from '../shared/database/operations.js';
import { assertTakesWrites } from '../shared/database/takes-writes.js';
import { applyOperations } from '../shared/inventory/apply-operations.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import { jobVersion } from '../shared/queue/job-format.js';
import type { Held } from '../shared/queue/leases.js';
import { materialOfQueue, queueName } from '../shared/queue/names.js';
import { applyInParts } from './apply-in-parts.js';
import type { AppliedJobs, ApplyInPartsDeps } from './apply-in-parts.js';
import type { WorkerDeps } from './deps.js';
import type { Job } from './read-jobs.js';

/** When the jobs were taken: in Redis' clock, and in this process's; and for how long the lane is at them. */
export interface CycleClock extends Pick<Held, 'nowMs' | 'sinceSentMs'>, Pick<ApplyInPartsDeps, 'goesOn' | 'endMs'> {}

/**
 * How often a transaction that meets passing faults runs in all, before its materials are given back. A lane that is
 * being stopped gives them back after the first run: beside a silent Postgres each takes seconds.
 */
const attemptsMax = 3;

/** A job with more deliveries has killed its workers or met endless faults; it is recorded as failed, never dropped. */
const deliveriesMax = 25;

/**
 * Applies the operations of these jobs in one transaction, in their order (pipeline §2.6), or in several where one
 * takes longer than it may. If that fails and the infrastructure is not to blame, one of the operations is. Then each
 * runs alone; one that fails alone, twice, is recorded as failed, and its neighbours go on (pipeline §3 "Poison").
 *
 * @throws an infrastructure error that did not pass; nothing is lost, the jobs stand where they stood
 */
export async function applyJobs(deps: WorkerDeps, jobs: Job[], clock: CycleClock): Promise<AppliedJobs> {
  const ours = jobs.filter(hasContent);
  for (const { queue, id } of jobs.filter((job) => !hasContent(job))) {
    deps.logger.error({ queue, job: id }, 'A job holds nothing of ours and is removed.');
  }
  const directed = ours.filter(({ isMisdirected }) => !isMisdirected);
  const sound = directed.filter(isSound);
  const groups = groupByMaterial(sound);
  const exhausted = groupByMaterial(directed.filter((job) => !isSound(job)));
  const slice: Slice = { ...clock, jobsIn: (part) => (part === groups ? sound.length : countJobs(sound, part)) };
  const refused = refuseMisdirected(deps, ours);
  const failed = await failGroups(deps, exhausted, 'its deliveries are exhausted, or its version is unknown');
  try {
    return merge([refused, failed, await applyInTime(deps, groups, slice)]);
  } catch (error) {
    if (mayPass(error)) throw error;
    deps.logger.error({ err: error, jobs: jobs.length }, 'A cycle failed; its operations run one at a time.');
    return merge([refused, failed, ...(await applyOneByOne(deps, groups, slice))]);
  }
}

/** What the transactions that apply one slice of a cycle's jobs have in common. */
interface Slice extends CycleClock {
  /** How many jobs have an operation among these. */
  jobsIn: (groups: OperationGroup[]) => number;
}

type JobOfOurs = Job & { content: NonNullable<Job['content']> };

function hasContent(job: Job): job is JobOfOurs {
  return job.content !== undefined;
}

function isSound({ content, deliveries }: JobOfOurs): boolean {
  return content.version === jobVersion && deliveries <= deliveriesMax;
}

/** Nothing is on record of these: whoever waits for one cancels it, in the database that it was meant for. */
function refuseMisdirected(deps: WorkerDeps, jobs: JobOfOurs[]): AppliedJobs {
  const misdirected = jobs.filter(({ isMisdirected }) => isMisdirected);
  for (const { queue, id } of misdirected) {
    deps.logger.error({ queue, job: id }, 'A job is meant for another database and is removed.');
  }
  const ids = misdirected.flatMap(({ content }) => content.operations.map((operation) => operation.id));
  return { outcomes: new Map(ids.map((id) => [id, { status: 'misdirected' }])), leftOut: new Set() };
}

function groupByMaterial(jobs: JobOfOurs[]): OperationGroup[] {
  const groups = new Map<string, OperationGroup>();
  for (const { queue, content } of jobs) {
    const group = groups.get(queue) ?? { operations: [], ...materialOfQueue(queue) };
    groups.set(queue, group);
    group.operations.push(...content.operations);
  }
  return [...groups.values()];
}

/** For a part of a slice: of a whole one the number is known, and looking up each operation would cost every cycle. */
function countJobs(jobs: JobOfOurs[], part: OperationGroup[]): number {
  const ids = new Set(part.flatMap(({ operations }) => operations.map(({ id }) => id)));
  return jobs.filter(({ content }) => content.operations.some(({ id }) => ids.has(id))).length;
}

function applyInTime(deps: WorkerDeps, groups: OperationGroup[], slice: Slice): Promise<AppliedJobs> {
  return applyInParts(groups, { ...slice, apply: (part) => apply(deps, part, slice) });
}

async function apply(
  deps: WorkerDeps,
  groups: OperationGroup[],
  { nowMs, sinceSentMs, goesOn, jobsIn }: Slice,
): Promise<AppliedJobs> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const startedAtMs = performance.now();
      const report = await applyOperations(deps.database, groups, {
        nowMs,
        sinceSentMs,
        keyMemoryMs: deps.keyMemoryMs,
      });
      const seconds = (performance.now() - startedAtMs) / 1_000;
      const { outcomes, leftOut } = report;
      const notDone = new Set(leftOut.map(queueName));
      const done = notDone.size === 0 ? groups : groups.filter((group) => !notDone.has(queueName(group)));
      if (groups.length > 0) deps.metrics.committed({ ...report, jobs: jobsIn(done), materials: done.length, seconds });
      deps.ledgerWatch.changed(done);
      return { outcomes, leftOut: notDone };
    } catch (error) {
      if (isTimeout(error))
        deps.logger.warn({ err: error, materials: groups.length }, 'A transaction overstayed its time.');
      if (attempt >= attemptsMax || !goesOn() || !mayPassAtOnce(error)) throw error;
      // Where commits wait for a standby that is away, each further one would leave another session there.
      if (isOverstay(error)) await assertTakesWrites(deps.database);
      deps.metrics.retried();
      deps.logger.warn({ err: error, attempt }, 'A transaction met a passing fault and runs again.');
    }
  }
}

/** Whether an error says nothing against the operations. */
const mayPass = (error: unknown) => isInfrastructureError(error) || isLostName(error);

/** What overstayed its time would overstay it again. */
const mayPassAtOnce = (error: unknown) => mayPass(error) && !isTimeout(error);

async function applyOneByOne(deps: WorkerDeps, groups: OperationGroup[], slice: Slice): Promise<AppliedJobs[]> {
  const results: AppliedJobs[] = [];
  for (const group of groups) {
    for (const operation of group.operations) {
      const alone = [{ ...group, operations: [operation] }];
      const result = await applyAlone(deps, alone, slice);
      results.push(result);
      // Its later operations must not overtake the one that was left out.
      if (result.leftOut.size > 0) break;
    }
  }
  return results;
}

/**
 * One that overstays its time, or the cycle's, is left out here as well. Thrown, it would end the cycle before the one
 * that is at fault had its turn, in every delivery, and hold up all that come after it.
 */
async function applyAlone(deps: WorkerDeps, alone: OperationGroup[], slice: Slice): Promise<AppliedJobs> {
  try {
    return await applyInTime(deps, alone, slice);
  } catch (first) {
    if (mayPass(first)) throw first;
    try {
      return await applyInTime(deps, alone, slice);
    } catch (second) {
      if (mayPass(second)) throw second;
      return failGroups(deps, alone, second);
    }
  }
}

async function failGroups(deps: WorkerDeps, groups: OperationGroup[], cause: unknown): Promise<AppliedJobs> {
  const results: AppliedJobs[] = [];
  for (const group of groups) results.push(await failGroup(deps, group, cause));
  return merge(results);
}

/** What cannot even be recorded as failed is left out, as if another held its material: its neighbours go on. */
async function failGroup(deps: WorkerDeps, group: OperationGroup, cause: unknown): Promise<AppliedJobs> {
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
    return { outcomes: new Map(), leftOut: new Set([queueName(group)]) };
  }
}

function merge(results: AppliedJobs[]): AppliedJobs {
  return {
    outcomes: new Map(results.flatMap(({ outcomes }) => [...outcomes])),
    leftOut: new Set(results.flatMap(({ leftOut }) => [...leftOut])),
  };
}
