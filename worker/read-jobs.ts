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
  /** Undefined where its data is no job of ours; then it is finished without being applied. */
  content: OperationsJob | undefined;
  /** It was queued for another database than the one we write to: by an installation that shares, or shared, our Redis. */
  isMisdirected: boolean;
  /** What its operations come to, in rows of adjustments. */
  weight: number;
}

/**
 * What a field update weighs: its result is the whole material, up to 40 KB, and all results of a transaction go out as
 * one message. 1,536 updates of large materials made 48 MB, at which Redis closes the connection that should hear them.
 */
const rowsPerUpdate = 40;

/**
 * Reads the jobs of the held materials, in their order.
 *
 * @param database the one we write to, as far as it is known
 */
export function readJobs(held: HeldMaterial[], database: string | undefined): Job[] {
  return held.flatMap(({ queue, jobs }) =>
    jobs.map(({ id, data, deliveries }): Job => {
      const content = parseOperationsJob(data);
      const isMisdirected = database !== undefined && (content?.database ?? database) !== database;
      return { id, queue, deliveries, content, isMisdirected, weight: weightOf(content) };
    }),
  );
}

function weightOf(content: OperationsJob | undefined): number {
  if (content?.version !== jobVersion) return 0;
  let weight = 0;
  for (const operation of content.operations) weight += rowsOf(operation);
  return weight;
}

/** What only claims to be an operation counts as one row; its fault is dealt with when it is applied. */
function rowsOf({ command }: Partial<Operation>): number {
  if (command?.kind === 'update') return rowsPerUpdate;
  return command?.kind === 'adjust' && Array.isArray(command.rows) ? command.rows.length : 1;
}
