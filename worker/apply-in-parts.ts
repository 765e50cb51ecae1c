import { isLockTimeout, isTimeout } from '../shared/database/errors.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import type { Reply } from '../shared/queue/job-format.js';
import { queueName } from '../shared/queue/names.js';

export interface AppliedJobs {
  outcomes: Map<string, Reply>;
  /** Queues of the materials left out: their jobs come again, though some of the operations may be on record. */
  leftOut: Set<string>;
}

export interface ApplyInPartsDeps {
  /** One transaction. */
  apply: (groups: OperationGroup[]) => Promise<AppliedJobs>;
  /** Whether the lane goes on; one that stops gives back what overstayed. */
  goesOn: () => boolean;
  /** By `performance.now()`: what is not begun by then is left out and comes again. */
  endMs: number;
}

/**
 * Applies operations in one transaction; if that overstays its time, in halves, and so on. At the same size, all of it
 * would overstay again: sixteen batches of 1,000 rows, on a Postgres that wrote 2,900 a second, were all answered 503
 * or 504. An operation that overstays alone is left out, for as long as somebody waits for it.
 *
 * It first halves the materials, the largest parts first, so that those who are not at fault wait as little as may be;
 * then the operations, in their order, of each material that overstays alone. If something waited for another session,
 * half the work would wait as long: each material then goes by itself at once, and only those that wait are waited for.
 * Beside 24 changes behind such a session, others took 1.8 s at most instead of 7.2.
 *
 * @throws whatever else `apply` throws; what earlier parts have done is on record
 */
export async function applyInParts(groups: OperationGroup[], deps: ApplyInPartsDeps): Promise<AppliedJobs> {
  const done: AppliedJobs = { outcomes: new Map(), leftOut: new Set() };
  const large: OperationGroup[] = [];
  const parts = [groups];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const overstay = await overstayOf(deps, part, done);
    if (overstay === undefined) continue;
    if (part.length > 1) parts.push(...(isLockTimeout(overstay) ? part.map((group) => [group]) : halvesOf(part)));
    else if (part[0]?.operations.length === 1) leaveOut(part, done);
    else large.push(...part);
  }
  for (const group of large) {
    const runs = halvesOf(group.operations);
    for (let run = runs.shift(); run !== undefined; run = runs.shift()) {
      // The later operations of a material must not overtake the one that was left out.
      if (done.leftOut.has(queueName(group))) break;
      if ((await overstayOf(deps, [{ ...group, operations: run }], done)) === undefined) continue;
      if (run.length > 1) runs.unshift(...halvesOf(run));
      else leaveOut([group], done);
    }
  }
  return done;
}

/** Applies a part, or leaves it out where the time for all is over; returns the error where it has to be divided. */
async function overstayOf(
  { apply, goesOn, endMs }: ApplyInPartsDeps,
  part: OperationGroup[],
  done: AppliedJobs,
): Promise<Error | undefined> {
  if (performance.now() >= endMs) {
    leaveOut(part, done);
    return undefined;
  }
  try {
    const applied = await apply(part);
    for (const [id, outcome] of applied.outcomes) done.outcomes.set(id, outcome);
    for (const queue of applied.leftOut) done.leftOut.add(queue);
    return undefined;
  } catch (error) {
    if (!isTimeout(error) || !goesOn()) throw error;
    return error;
  }
}

function leaveOut(part: OperationGroup[], { leftOut }: AppliedJobs): void {
  for (const group of part) leftOut.add(queueName(group));
}

/** A single thing is one part. */
function halvesOf<T>(all: readonly T[]): T[][] {
  const half = Math.ceil(all.length / 2);
  return [all.slice(0, half), all.slice(half)].filter((part) => part.length > 0);
}
