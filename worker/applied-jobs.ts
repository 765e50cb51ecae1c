import type { OperationGroup } from '../shared/inventory/decide.js';
import type { Reply } from '../shared/queue/job-format.js';
import { queueName } from '../shared/queue/names.js';

/** What became of the operations of some jobs. */
export interface AppliedJobs {
  outcomes: Map<string, Reply>;
  /** Queues of the materials left out: their jobs come again, though some of their operations may be on record. */
  leftOut: Set<string>;
}

/** To begin with; `addTo` adds to it. */
export function nothingApplied(): AppliedJobs {
  return { outcomes: new Map(), leftOut: new Set() };
}

/** Nothing was done for these. */
export function leftOutAll(groups: OperationGroup[]): AppliedJobs {
  return { outcomes: new Map(), leftOut: new Set(groups.map(queueName)) };
}

/** Adds what was done for some operations to what was done for others. */
export function addTo(done: AppliedJobs, { outcomes, leftOut }: AppliedJobs): void {
  for (const [id, outcome] of outcomes) done.outcomes.set(id, outcome);
  for (const queue of leftOut) done.leftOut.add(queue);
}
