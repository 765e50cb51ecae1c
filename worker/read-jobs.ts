import type { Operation } from '../shared/domain/operation.js';
import { jobVersion, parseOperationsJob } from '../shared/queue/job-format.js';
import type { OperationsJob } from '../shared/queue/job-format.js';
import type { HeldMaterial } from '../shared/queue/leases.js';

/** A job in the hands of a lane. */
export interface Job {
  id: string;
  queue: string;
  /** How often the job was handed out, this time included. */
  deliveries: number;
  /** Undefined where its data is no job of ours; it is only finished. */
  content: OperationsJob | undefined;
  rowCount: number;
}

/** Reads the jobs of the held materials, in their order. */
export function readJobs(held: HeldMaterial[]): Job[] {
  return held.flatMap(({ queue, jobs }) =>
    jobs.map(({ id, data, deliveries }): Job => {
      const content = parseOperationsJob(data);
      return { id, queue, deliveries, content, rowCount: rowCountOf(content) };
    }),
  );
}

function rowCountOf(content: OperationsJob | undefined): number {
  if (content?.version !== jobVersion) return 0;
  let rowCount = 0;
  for (const operation of content.operations) rowCount += rowsOf(operation);
  return rowCount;
}

/** Of what only claims to be an operation the fault shows where it is dealt with: when it is applied. */
function rowsOf({ command }: Partial<Operation>): number {
  return command?.kind === 'adjust' && Array.isArray(command.rows) ? command.rows.length : 1;
}
