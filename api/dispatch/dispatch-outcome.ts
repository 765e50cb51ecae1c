import type { OperationOutcome } from '../../shared/domain/operation.js';

/**
 * What the pipeline tells a use case about the request it dispatched (pipeline §3 "An honest answer"): either what is
 * on record (the executed result, a reused key, our failure), or that it certainly never will be applied, or that
 * nobody can tell.
 */
export type DispatchOutcome =
  | Extract<OperationOutcome, { status: 'executed' | 'key-reused' | 'failed' }>
  /** Not queued, cancelled, or expired: certainly not applied, ever (503). */
  | { status: 'not-applied'; message: string; retryAfterSeconds: number }
  /** Queued, and neither a result nor a cancellation could be had: 504. */
  | { status: 'unknown' };

const retryAfterSecondsMax = 3;

/** Certainly not applied. The wait until a retry is random, so that refused clients do not all come back at once. */
export function notApplied(message: string): DispatchOutcome {
  return { status: 'not-applied', message, retryAfterSeconds: 1 + Math.floor(Math.random() * retryAfterSecondsMax) };
}

/** What is on record of an operation, as the answer to the request that waits for it. */
export function toDispatchOutcome(outcome: OperationOutcome): DispatchOutcome {
  switch (outcome.status) {
    case 'cancelled':
      return notApplied('The change could not be applied in time, and was cancelled.');
    case 'expired':
      return notApplied('The change came to a worker too late to be applied.');
    case 'executed':
    case 'key-reused':
    case 'failed':
      return outcome;
  }
}
