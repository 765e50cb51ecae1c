import { fail, succeed } from '../../shared/domain/errors.js';
import type { RequestError, Result } from '../../shared/domain/errors.js';
import { batchResult } from '../../shared/domain/batch-result.js';
import type { BatchResult } from '../../shared/domain/batch-result.js';
import type { Material } from '../../shared/domain/material.js';
import type { OperationResult } from '../../shared/domain/operation.js';
import type { DispatchOutcome } from '../dispatch/dispatch-outcome.js';

/** The outcome of a use case that changes something. */
export interface Answered<T> {
  result: Result<T>;
  /** What an earlier request with the same key was answered (contract §7, `Idempotency-Replayed`). */
  replayed: boolean;
}

export function answered<T>(result: Result<T>, replayed = false): Answered<T> {
  return { result, replayed };
}

interface Asked {
  materialId: string;
  requestId: string;
  /** Whether the client sent an `Idempotency-Key`, by which it can settle an open outcome. */
  hasKey: boolean;
}

/** `data` of a batch, or the request-level error it collapses to (contract §3.7). */
export function answerToBatch(outcome: DispatchOutcome, asked: Asked): Answered<BatchResult> {
  return answerTo(outcome, asked, (result) =>
    result.kind === 'adjusted' ? batchResult(asked.materialId, result.rowCount, result.failures) : undefined,
  );
}

/** `data` of a field update: the state after the commit (contract §2 "Material"). */
export function answerToUpdate(outcome: DispatchOutcome, asked: Asked): Answered<Material> {
  return answerTo(outcome, asked, (result) => (result.kind === 'updated' ? succeed(result.material) : undefined));
}

/** What each certainty of the pipeline means to a client (contract §5: 422, 500, 503, 504). */
function answerTo<T>(
  outcome: DispatchOutcome,
  asked: Asked,
  read: (result: OperationResult) => Result<T> | undefined,
): Answered<T> {
  switch (outcome.status) {
    case 'executed':
      return answered(readResult(outcome.result, read), outcome.replayed);
    case 'key-reused':
      return answered(keyReused);
    case 'failed':
      return answered(failed);
    case 'not-applied': {
      const { message, retryAfterSeconds } = outcome;
      return answered(fail('SERVICE_UNAVAILABLE', message, { retryAfterSeconds }));
    }
    case 'unknown':
      return answered(fail('OUTCOME_UNKNOWN', openOutcome(asked)));
  }
}

function readResult<T>(result: OperationResult, read: (result: OperationResult) => Result<T> | undefined): Result<T> {
  if (result.kind === 'rejected') {
    const { code, message, details } = result;
    return fail(code, message, details === undefined ? {} : { details });
  }
  const data = read(result);
  if (data === undefined) throw new Error(`an operation was answered with the result of another kind: ${result.kind}`);
  return data;
}

const keyReused: { ok: false; error: RequestError } = fail(
  'IDEMPOTENCY_KEY_REUSED',
  'This Idempotency-Key was used with another request before. Nothing was applied; use a new key for a new request.',
);

const failed: { ok: false; error: RequestError } = fail(
  'INTERNAL_ERROR',
  'Something went wrong on our side. Nothing was applied; quote the request id to support.',
);

function openOutcome({ materialId, requestId, hasKey }: Asked): string {
  const open = 'The request was queued, but whether it is applied cannot be told yet.';
  if (hasKey) return `${open} Send it again with the same Idempotency-Key: an executed answer to that key settles it.`;
  const history = `/v1/raw-materials/${materialId}/inventory/history?requestId=${requestId}`;
  return `${open} What ${history} shows is applied; what it does not show ten minutes from now never will be.`;
}
