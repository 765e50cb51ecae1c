import { isServerTimeout } from '../shared/database/errors.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import { queueName } from '../shared/queue/names.js';
import { mayPass } from './apply-with-retries.js';
import type { CycleLimits } from './cycle-limits.js';
import { addTo, emptyReport, leftOutAll } from './jobs-report.js';
import type { JobsReport } from './jobs-report.js';

export interface ApplyDividedDeps<Group extends OperationGroup> extends Pick<CycleLimits, 'isStopping' | 'tryBegin'> {
  /** One transaction. */
  apply: (groups: Group[]) => Promise<JobsReport>;
  /** Records the one operation of this group as failed. */
  fail: (alone: Group, fault: unknown) => Promise<JobsReport>;
}

/**
 * Applies operations in one transaction. If that overstays its time, or meets a fault that does not pass, they are
 * divided: first into their materials, then, of each that fails by itself, into halves of its operations, in their
 * order, and so on. An operation that overstays alone is left out, and so comes again until its API cancels it. One
 * that fails twice alone is recorded as failed (pipeline §3 "Poison").
 *
 * At the same size it would overstay again: sixteen batches of 1,000 rows, on a Postgres that wrote 2,900 a second, were
 * all answered 503 or 504. All materials have their turn alone before one is divided further, so those that are not to
 * blame wait as little as possible: beside 24 changes that another session blocked, others took 1.8 s at most instead of
 * 7.2.
 *
 * @throws a transient fault that did not pass; what earlier parts have done is on record
 */
export async function applyDivided<Group extends OperationGroup>(
  groups: Group[],
  { apply, fail, isStopping, tryBegin }: ApplyDividedDeps<Group>,
): Promise<JobsReport> {
  const report = emptyReport();

  /** Applies a part, or leaves it out if none is to be begun any more; returns why it must be divided, if it must. */
  async function faultOf(part: Group[]): Promise<unknown> {
    try {
      addTo(report, tryBegin() ? await apply(part) : leftOutAll(part));
      return undefined;
    } catch (error) {
      if (mayPass(error) && (!isServerTimeout(error) || isStopping())) throw error;
      return error;
    }
  }

  async function divide(group: Group, fault: unknown): Promise<void> {
    // A job of somebody else's may have none.
    if (group.operations.length < 2) return endAlone(group, fault);
    for (const operations of halvesOf(group.operations)) {
      // Later operations of a material must not overtake the one that was left out.
      if (report.leftOut.has(queueName(group))) return;
      const half = { ...group, operations };
      const halfFault = await faultOf([half]);
      if (halfFault !== undefined) await divide(half, halfFault);
    }
  }

  /**
   * One that overstays at its second try is left out as well: thrown, that would end the cycle, in every delivery,
   * before the operation that is at fault had its turn.
   */
  async function endAlone(alone: Group, first: unknown): Promise<void> {
    const last = isServerTimeout(first) ? first : await faultOf([alone]);
    if (last === undefined) return;
    addTo(report, isServerTimeout(last) ? leftOutAll([alone]) : await fail(alone, last));
  }

  const fault = await faultOf(groups);
  if (fault === undefined) return report;
  const faulty: { group: Group; fault: unknown }[] = [];
  for (const group of groups) {
    // What overstayed by itself would do so again; any other fault may have passed.
    const own = groups.length === 1 && isServerTimeout(fault) ? fault : await faultOf([group]);
    if (own !== undefined) faulty.push({ group, fault: own });
  }
  for (const { group, fault: own } of faulty) await divide(group, own);
  return report;
}

/** Of two or more. */
function halvesOf<T>(all: readonly T[]): [T[], T[]] {
  const half = Math.ceil(all.length / 2);
  return [all.slice(0, half), all.slice(half)];
}
