import type { MaterialRef, Operation } from '../../shared/domain/operation.js';
import type { DispatchOutcome } from './dispatch-outcome.js';

/** A request that waits for the outcome of its operation. */
export interface Waiter {
  ref: MaterialRef;
  operation: Operation;
  rowCount: number;
  /** What it takes in memory and in the queue, roughly. */
  bytes: number;
  /** The end of its wait, in the monotonic clock of this process. */
  waitEndsMs: number;
  nextLookUpMs: number;
  /**
   * The job that carries it; undefined until it is formed: while its material has one in flight, or its shop's gate is
   * full.
   */
  job: FormedJob | undefined;
  /**
   * Set once it is being cancelled: until when that is tried. It is no longer looked up. Its job may be sent again for
   * the others in it; a worker then finds on record what was cancelled.
   */
  graceEndsMs: number | undefined;
  resolve: (outcome: DispatchOutcome) => void;
}

export interface FormedJob {
  id: string;
  ref: MaterialRef;
  /** Those of its operations that have no outcome yet. */
  open: Set<Waiter>;
}
