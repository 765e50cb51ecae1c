import type { OperationGroup } from '../shared/inventory/decide.js';
import type { Reply } from '../shared/queue/job-format.js';
import { queueName } from '../shared/queue/names.js';

/** What became of the operations of some jobs. */
export interface JobsReport {
  outcomes: Map<string, Reply>;
  /** Queues of the materials left out: their jobs come again, though some of their operations may be on record. */
  leftOut: Set<string>;
}

/** To begin with; `addTo` adds to it. */
export function emptyReport(): JobsReport {
  return { outcomes: new Map(), leftOut: new Set() };
}

/** Nothing was done for these. */
export function leftOutAll(groups: OperationGroup[]): JobsReport {
  return { outcomes: new Map(), leftOut: new Set(groups.map(queueName)) };
}

/** Adds what became of some operations to what became of others. */
export function addTo(report: JobsReport, { outcomes, leftOut }: JobsReport): void {
  for (const [id, outcome] of outcomes) report.outcomes.set(id, outcome);
  for (const queue of leftOut) report.leftOut.add(queue);
}
