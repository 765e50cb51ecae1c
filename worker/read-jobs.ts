import type { Operation } from '../shared/domain/operation.js';
import { jobVersion, parseOperationsJob } from '../shared/queue/job-format.js';
import type { OperationsJob } from '../shared/queue/job-format.js';
import type { HeldMaterial } from '../shared/queue/leases.js';
import { updateWeight } from '../shared/queue/limits.js';

/** A job of a material that a lane holds. */
export interface Job {
  id: string;
  queue: string;
  /** Of the take that gave its material. */
  token: string;
  /** How often the job was handed out, this time included, without the times that it was given back `uncounted`. */
  deliveries: number;
  /** Undefined if its data is no job of ours; then it is removed without being applied. */
  content: OperationsJob | undefined;
  /**
   * It is meant for another database than this worker writes to: from an installation that uses, or used, our Redis.
   */
  isMisdirected: boolean;
  /**
   * How much of a transaction its operations take, in rows of adjustments (`rowsPerTransactionMax`); a field update
   * takes `updateWeight.inTransaction`.
   */
  weight: number;
}

/**
 * Reads the jobs of the held materials, in their order.
 *
 * @param databaseIdentity of the database that this worker writes to; undefined while it is unknown
 */
export function readJobs(held: HeldMaterial[], databaseIdentity: string | undefined): Job[] {
  return held.flatMap(({ queue, token, jobs }) =>
    jobs.map(({ id, data, deliveries }): Job => {
      const content = parseOperationsJob(data);
      const isMisdirected =
        databaseIdentity !== undefined && (content?.database ?? databaseIdentity) !== databaseIdentity;
      return { id, queue, token, deliveries, content, isMisdirected, weight: weightOf(content) };
    }),
  );
}

function weightOf(content: OperationsJob | undefined): number {
  if (content?.version !== jobVersion) return 0;
  let weight = 0;
  for (const operation of content.operations) weight += rowsOf(operation);
  return weight;
}

/** Data that is no valid operation counts as one row; applying it then fails. */
function rowsOf({ command }: Partial<Operation>): number {
  if (command?.kind === 'update') return updateWeight.inTransaction;
  return command?.kind === 'adjust' && Array.isArray(command.rows) ? command.rows.length : 1;
}
