import type { MaterialRef, Operation } from '../../shared/domain/operation.js';
import type { DispatchOutcome } from './dispatch-outcome.js';

/** A request that waits for the outcome of its operation. */
export interface Waiter {
  ref: MaterialRef;
  operation: Operation;
  /**
   * How much of a job it takes, in rows of adjustments (`rowsPerJobMax`); a field update takes `updateWeight.inJob`. A
   * worker has another measure (its `Job.weight`).
   */
  weight: number;
  /** What it takes in memory and in the queue, roughly. */
  bytes: number;
  /** The end of its wait, by `performance.now()` as all times here but one. */
  waitEndsMs: number;
  nextLookUpMs: number;
  /** The job that carries it; undefined while another of its material is in flight, or its shop's gate is full. */
  job: FormedJob | undefined;
  /**
   * Set once it is being cancelled: until when that is tried, by the running clock of the follow-up. It is not looked
   * up any more. Its job may still be sent again for the others in it; a worker then finds on record that this one was
   * cancelled.
   */
  graceEndsMs: number | undefined;
  resolve: (outcome: DispatchOutcome) => void;
}

/** A job that was made and is to be sent, or was. */
export interface FormedJob {
  id: string;
  ref: MaterialRef;
  /** Those of its operations that have no outcome yet. */
  open: Set<Waiter>;
  /** By `performance.now()`. */
  formedMs: number;
}
