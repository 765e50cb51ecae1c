import type { OperationOutcome, OperationResult } from '../domain/operation.js';

/**
 * As `readOutcome`, for the apply step, which must never take an operation that is on record for an open one.
 *
 * @throws for a status that this version does not know
 */
export function toOutcome(status: string, result: string | null): OperationOutcome {
  const outcome = readOutcome(status, result);
  if (outcome === undefined) throw new Error(`unknown status of an operation: ${status}`);
  return outcome;
}

/**
 * @param result of a replay, that of the operation which it replays
 * @returns undefined for a status that only a later version knows, as older processes meet it for two days after an
 *   update was taken back; so a version is to read a new status before a later one writes it
 */
export function readOutcome(status: string, result: string | null): OperationOutcome | undefined {
  switch (status) {
    case 'executed':
    case 'replayed':
      // The original was deleted already, and a job of its replay has come once more, from an old file of Redis. The
      // replay itself has applied nothing.
      if (result === null) return { status: 'expired' };
      return { status: 'executed', result: toResult(result), replayed: status === 'replayed' };
    case 'key-reused':
    case 'expired':
    case 'cancelled':
    case 'failed':
      return { status };
    default:
      return undefined;
  }
}

export function toResult(json: string): OperationResult {
  return JSON.parse(json) as OperationResult;
}
