import type { OperationOutcome } from '../../shared/domain/operation.js';

/**
 * What the pipeline tells a use case about the request it dispatched (pipeline §3 "An honest answer"): either it is on
 * record (the executed result, a reused key, our failure), or it is certainly never applied, or nobody can tell.
 */
export type DispatchOutcome =
  | Extract<OperationOutcome, { status: 'executed' | 'key-reused' | 'failed' }>
  /** Not queued, cancelled, or expired: certainly not applied, ever (503). */
  | { status: 'not-applied'; message: string; retryAfterSeconds: number }
  /** Queued, and neither a result nor a cancellation could be had: 504. */
  | { status: 'unknown' };
