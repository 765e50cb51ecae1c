import type { RowFailureCode } from './adjustment.js';
import { fail, succeed } from './errors.js';
import type { Result } from './errors.js';

/** A row that failed; the rows that are not listed succeeded. */
export interface RowFailure {
  index: number;
  code: RowFailureCode;
  message: string;
}

/** `data` of the inventory update (spec §Inventory batch result). */
export interface BatchResult {
  results: (
    | { index: number; ok: true; id: string }
    | { index: number; ok: false; error: { code: RowFailureCode; message: string } }
  )[];
  okCount: number;
  failedCount: number;
  /** Nothing in v1 skips a row (contract §3.8). */
  skippedCount: number;
}

/**
 * The answer to a batch: an entry a row, or, where every row failed with the same code, one request-level error of
 * that code with the rows' messages as details (spec §PATCH inventory "Collapse rule", contract §3.7).
 */
export function batchResult(materialId: string, rowCount: number, failures: RowFailure[]): Result<BatchResult> {
  const first = failures[0];
  if (first !== undefined && failures.length === rowCount && failures.every(({ code }) => code === first.code)) {
    const details = failures.map(({ index, message }) => ({ path: `/updates/${index}`, message }));
    return fail(first.code, first.message, { details });
  }
  const failureByIndex = new Map(failures.map((failure) => [failure.index, failure]));
  const results = Array.from({ length: rowCount }, (_, index): BatchResult['results'][number] => {
    const failure = failureByIndex.get(index);
    if (failure === undefined) return { index, ok: true, id: materialId };
    return { index, ok: false, error: { code: failure.code, message: failure.message } };
  });
  return succeed({ results, okCount: rowCount - failures.length, failedCount: failures.length, skippedCount: 0 });
}
