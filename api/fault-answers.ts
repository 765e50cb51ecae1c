import { fail, unavailable } from '../shared/domain/errors.js';

// What a client is told when the fault is ours and not its request's (contract §5).

/** Refused before anything was queued. */
export const storageAway = unavailable(
  'The service cannot use its database at the moment. This request was not applied.',
);

/** A read that Postgres did not answer in time: one slow statement, or a lock. Everything else may be well. */
export const readTimedOut = unavailable('The database took too long to answer. This request was not applied.');

export const internalError = fail(
  'INTERNAL_ERROR',
  'Something went wrong on our side. This request was not applied; quote the request id to support.',
);

/** For a fault that came after a change and before its answer. */
export const answerLost = fail(
  'OUTCOME_UNKNOWN',
  'Something went wrong on our side after the request was worked on: it may be applied. Quote the request id to support.',
);

/** Thrown where a fault of ours makes the answer to a change impossible: the change itself may be applied. */
export class LostAnswer extends Error {}
