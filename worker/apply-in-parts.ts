import { isLockTimeout, isServerTimeout } from '../shared/database/errors.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import type { Reply } from '../shared/queue/job-format.js';
import { queueName } from '../shared/queue/names.js';

export interface AppliedJobs {
  outcomes: Map<string, Reply>;
  /** Queues of the materials left out: their jobs come again, though some of their operations may be on record. */
  leftOut: Set<string>;
}

export interface ApplyInPartsDeps<Group extends OperationGroup = OperationGroup> {
  /** One transaction. */
  apply: (groups: Group[]) => Promise<AppliedJobs>;
  /**
   * Whether the lane is to stop; then what overstays is not divided but thrown, and its materials given back, and what
   * has not begun is left out.
   */
  isStopping: () => boolean;
  /** By `performance.now()`: what has not begun by then is left out. */
  endMs: number;
}

/**
 * Applies operations in one transaction; if that overstays its time, in halves, and so on. At the same size it would
 * overstay again: sixteen batches of 1,000 rows, on a Postgres that wrote 2,900 a second, were all answered 503 or 504.
 * An operation that overstays alone is left out, and so comes again until its API cancels it.
 *
 * First the materials are halved, the largest parts first, so that those that are not to blame wait as little as
 * possible; then, of each material that overstays alone, the operations, in their order. If the transaction had to wait
 * for another session, half of it might wait as long. Each material is then applied by itself at once, and only those
 * that the session blocks wait for it: beside 24 changes that were blocked, others took 1.8 s at most instead of 7.2.
 *
 * @throws whatever else `apply` throws; what earlier parts have done is on record
 */
export async function applyInParts<Group extends OperationGroup>(
  groups: Group[],
  deps: ApplyInPartsDeps<Group>,
): Promise<AppliedJobs> {
  const done: AppliedJobs = { outcomes: new Map(), leftOut: new Set() };
  let hasBegun = false;
  const parting: Parting<Group> = {
    ...deps,
    isOver: () => performance.now() >= deps.endMs || (hasBegun && deps.isStopping()),
    apply: (part) => {
      hasBegun = true;
      return deps.apply(part);
    },
  };
  const large: Group[] = [];
  const parts = [groups];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const overstay = await overstayOf(parting, part, done);
    if (overstay === undefined) continue;
    if (part.length > 1) parts.push(...(isLockTimeout(overstay) ? part.map((group) => [group]) : halvesOf(part)));
    else if (part[0]?.operations.length === 1) add(done, leftOutAll(part));
    else large.push(...part);
  }
  for (const group of large) {
    const runs = halvesOf(group.operations);
    for (let run = runs.shift(); run !== undefined; run = runs.shift()) {
      // Later operations of a material must not overtake the one that was left out.
      if (done.leftOut.has(queueName(group))) break;
      if ((await overstayOf(parting, [{ ...group, operations: run }], done)) === undefined) continue;
      if (run.length > 1) runs.unshift(...halvesOf(run));
      else add(done, leftOutAll([group]));
    }
  }
  return done;
}

interface Parting<Group extends OperationGroup> extends ApplyInPartsDeps<Group> {
  /** Whether no further part is begun. */
  isOver: () => boolean;
}

/**
 * Applies a part, or leaves it out if none is to be begun; returns its error if it overstayed and must be divided.
 */
async function overstayOf<Group extends OperationGroup>(
  { apply, isStopping, isOver }: Parting<Group>,
  part: Group[],
  done: AppliedJobs,
): Promise<Error | undefined> {
  try {
    add(done, isOver() ? leftOutAll(part) : await apply(part));
    return undefined;
  } catch (error) {
    if (!isServerTimeout(error) || isStopping()) throw error;
    return error;
  }
}

/** Nothing was done for these. */
export function leftOutAll(groups: OperationGroup[]): AppliedJobs {
  return { outcomes: new Map(), leftOut: new Set(groups.map(queueName)) };
}

function add(done: AppliedJobs, { outcomes, leftOut }: AppliedJobs): void {
  for (const [id, outcome] of outcomes) done.outcomes.set(id, outcome);
  for (const queue of leftOut) done.leftOut.add(queue);
}

/** Two parts, or one if there is only one thing. */
function halvesOf<T>(all: readonly T[]): T[][] {
  const half = Math.ceil(all.length / 2);
  return [all.slice(0, half), all.slice(half)].filter((part) => part.length > 0);
}
