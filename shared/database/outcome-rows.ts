import type { OperationOutcome, OperationResult } from '../domain/operation.js';

/** @param result of a replay, that of the operation which it replays */
export function toOutcome(status: string, result: string | null): OperationOutcome {
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
      throw new Error(`unknown status of an operation: ${status}`);
  }
}

export function toResult(json: string): OperationResult {
  return JSON.parse(json) as OperationResult;
}
