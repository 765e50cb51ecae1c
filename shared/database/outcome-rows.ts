import type { OperationOutcome, OperationResult } from '../domain/operation.js';

/** A row of `operations` as the outcome that it records; a replay carries the result of the row it points at. */
export function toOutcome(status: string, result: string | null): OperationOutcome {
  switch (status) {
    case 'executed':
    case 'replayed':
      // The original is kept a day longer than anyone waits for its replay, but the replay's job may come once more
      // after that, out of an old file of Redis. The replay itself has applied nothing.
      if (result === null) return { status: 'expired' };
      return { status: 'executed', result: toResult(result), replayed: status === 'replayed' };
    case 'key-reused':
    case 'expired':
    case 'cancelled':
    case 'failed':
      return { status };
    default:
      throw new Error(`unknown status of an operation: ${status}`);
  }
}

export function toResult(json: string): OperationResult {
  return JSON.parse(json) as OperationResult;
}
