import { batchResult } from '../../shared/domain/batch-result.js';
import type { BatchResult, RowFailure } from '../../shared/domain/batch-result.js';
import { fail, succeed, unavailable } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { VersionedMaterial } from '../../shared/domain/material.js';
import type { OperationResult } from '../../shared/domain/operation.js';
import type { DispatchOutcome } from '../dispatch/dispatch-outcome.js';
import { internalError, LostAnswer } from '../fault-answers.js';
import type { OpenChange, Wording } from './wording.js';

/** What a use case that changes something answers. */
export interface Answered<T> {
  result: Result<T>;
  /** Whether this is the remembered answer to an earlier request with the same key (contract §7). */
  replayed: boolean;
}

export function answered<T>(result: Result<T>, replayed = false): Answered<T> {
  return { result, replayed };
}

/** What an answer depends on, beside the outcome. */
interface Asked extends OpenChange {
  wording: Wording;
  /** A dry run is certainly not applied, whatever became of it. */
  dryRun: boolean;
}

/**
 * The answer to a batch: `data`, or the error of the whole request if all rows failed alike (contract §3.7).
 *
 * @param malformed rows of the request that were not dispatched, each with its index there
 */
export function answerToBatch(
  outcome: DispatchOutcome,
  asked: Asked,
  malformed: readonly RowFailure[],
): Answered<BatchResult> {
  return answerTo(outcome, asked, (result) => {
    if (result.kind !== 'adjusted') return undefined;
    const failures = [...malformed, ...result.failures].sort((one, other) => one.index - other.index);
    return batchResult(asked.materialId, result.rowCount + malformed.length, failures, result.changes);
  });
}

/** The answer to a field update: the material after the commit (contract §2 "Material"). */
export function answerToUpdate(outcome: DispatchOutcome, asked: Asked): Answered<VersionedMaterial> {
  return answerTo(outcome, asked, (result) => {
    if (result.kind !== 'updated') return undefined;
    const { material, version } = result;
    return succeed({ material, version });
  });
}

/** What each outcome of the dispatch means to a client (contract §5: 422, 500, 503, 504). */
function answerTo<T>(
  outcome: DispatchOutcome,
  asked: Asked,
  read: (result: OperationResult) => Result<T> | undefined,
): Answered<T> {
  switch (outcome.status) {
    case 'executed':
      return answered(readResult(outcome.result, read), outcome.replayed);
    case 'key-reused':
      return answered(fail('IDEMPOTENCY_KEY_REUSED', asked.wording.keyReused));
    case 'failed':
      return answered(internalError);
    case 'not-applied': {
      const { message, retryAfterSeconds } = outcome;
      return answered(fail('SERVICE_UNAVAILABLE', `${message} ${whatIsCertain(asked)}`, { retryAfterSeconds }));
    }
    case 'unknown':
      if (asked.dryRun) return answered(unansweredDryRun);
      return answered(fail('OUTCOME_UNKNOWN', asked.wording.openOutcome(asked)));
  }
}

/**
 * What is certain after a 503. It is about this attempt only (contract §5, 504). An earlier one with the same key may
 * have been applied: a client that is told "nothing was", and takes a new key, would apply its change twice.
 */
function whatIsCertain({ hasKey, dryRun }: Asked): string {
  if (!hasKey || dryRun) return 'Nothing was applied.';
  return 'This attempt was not applied; one before it with the same key may have been, so keep the key.';
}

function readResult<T>(result: OperationResult, read: (result: OperationResult) => Result<T> | undefined): Result<T> {
  if (result.kind === 'rejected') {
    const { code, message, details } = result;
    return fail(code, message, details && { details });
  }
  const data = read(result);
  if (data === undefined)
    throw new LostAnswer(`an operation was answered with the result of another kind: ${result.kind}`);
  return data;
}

const unansweredDryRun = unavailable('The dry run was not answered in time. A dry run applies nothing; try it again.');
