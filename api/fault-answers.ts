import { fail } from '../shared/domain/errors.js';

// What a client is told when the fault is ours and not its request's (contract §5).

/** Refused before anything was queued. */
export const storageAway = fail(
  'SERVICE_UNAVAILABLE',
  'The service cannot use its database at the moment. This request was not applied.',
  { retryAfterSeconds: 1 },
);

/** A read that Postgres had not answered in time: one slow statement, or a lock, beside which all else may be well. */
export const readOverstayed = fail(
  'SERVICE_UNAVAILABLE',
  'The database took too long to answer. This request was not applied.',
  { retryAfterSeconds: 1 },
);

export const internalError = fail(
  'INTERNAL_ERROR',
  'Something went wrong on our side. This request was not applied; quote the request id to support.',
);

/** A fault between a change and its answer. */
export const answerLost = fail(
  'OUTCOME_UNKNOWN',
  'Something went wrong on our side after the request was worked on: it may be applied. Quote the request id to support.',
);

/** Thrown where a fault of ours loses an answer: the outcome that it would have reported stands. */
export class LostAnswer extends Error {}
