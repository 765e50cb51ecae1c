import { markBlameless } from '../shared/database/errors.js';
import { recordFailed } from '../shared/database/operations.js';
import { reasonOf } from '../shared/domain/reason-of.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import { jobVersion } from '../shared/queue/job-format.js';
import { materialOfQueue, queueName } from '../shared/queue/names.js';
import { applyDivided } from './apply-divided.js';
import { applyWithRetries, mayPass } from './apply-with-retries.js';
import type { JobGroup } from './apply-with-retries.js';
import type { CycleLimits } from './cycle-limits.js';
import { addTo, emptyReport, leftOutAll } from './jobs-report.js';
import type { JobsReport } from './jobs-report.js';
import type { LaneDeps } from './lane-deps.js';
import type { Job } from './read-jobs.js';

/**
 * A job with more has killed its workers or met endless faults. Its operations are recorded as failed, never dropped.
 */
const deliveriesMax = 25;

/**
 * Applies the operations of these jobs in one transaction, in their order (pipeline §2.6), or divided, if that takes too
 * long or one of them is at fault (`applyDivided`).
 *
 * @throws a transient fault that did not pass; nothing is lost, because the jobs are still in their queues
 */
export async function applyJobs(deps: LaneDeps, jobs: Job[], limits: CycleLimits): Promise<JobsReport> {
  const misdirected: JobOfOurs[] = [];
  const ofUnknownVersion: JobOfOurs[] = [];
  const exhausted: JobOfOurs[] = [];
  const sound: JobOfOurs[] = [];
  for (const job of jobs) {
    if (!hasContent(job))
      deps.logger.error({ queue: job.queue, job: job.id }, 'A job holds nothing of ours and is removed.');
    else if (job.isMisdirected) misdirected.push(job);
    else if (job.content.version !== jobVersion) ofUnknownVersion.push(job);
    else if (job.deliveries > deliveriesMax) exhausted.push(job);
    else sound.push(job);
  }
  const report = refuse(deps, misdirected);
  addTo(report, await failAll(deps, ofUnknownVersion, 'the version of their job is unknown to this worker', limits));
  addTo(report, await failAll(deps, exhausted, 'the deliveries of their job are exhausted', limits));
  const groups = groupByMaterial(sound);
  if (groups.length === 0) return report;
  const apply = (part: JobGroup[]) => applyWithRetries(deps, part, limits);
  const fail = (alone: JobGroup, fault: unknown) => failGroup(deps, alone, fault);
  addTo(report, await applyDivided(groups, { ...limits, apply, fail }));
  return report;
}

type JobOfOurs = Job & { content: NonNullable<Job['content']> };

function hasContent(job: Job): job is JobOfOurs {
  return job.content !== undefined;
}

/** Nothing of these goes on record here: their API is told, and cancels them in the database they are meant for. */
function refuse(deps: LaneDeps, misdirected: JobOfOurs[]): JobsReport {
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

async function failAll(
  deps: LaneDeps,
  unfit: JobOfOurs[],
  cause: string,
  { tryBegin }: CycleLimits,
): Promise<JobsReport> {
  const report = emptyReport();
  for (const group of groupByMaterial(unfit)) {
    addTo(report, tryBegin() ? await failGroup(deps, group, cause) : leftOutAll([group]));
  }
  return report;
}

/** A material whose operations cannot even be recorded as failed is left out, so that the others are applied. */
async function failGroup(deps: LaneDeps, group: OperationGroup, cause: unknown): Promise<JobsReport> {
  const { shopId, materialId } = group;
  const operations = group.operations.map(({ id }) => ({ shopId, materialId, id }));
  try {
    const { outcomes, leftOut } = await markBlameless(recordFailed(deps.database, operations));
    const failed = operations.filter(({ id }) => outcomes.get(id)?.status === 'failed');
    // Only then: while another session holds the material, they are left out, and come again several times a second.
    if (failed.length > 0) deps.logger.error({ err: cause, operations: failed }, 'Operations are recorded as failed.');
    deps.metrics.failed(failed.length);
    return { outcomes, leftOut: new Set(leftOut.map(queueName)) };
  } catch (error) {
    if (mayPass(error)) throw error;
    deps.logger.error(
      { err: error, cause: reasonOf(cause), operations },
      'Operations could not be recorded as failed.',
    );
    return leftOutAll([group]);
  }
}
