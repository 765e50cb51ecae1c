import type { RowApplied, RowFailureCode } from './adjustment.js';
import { fail, succeed } from './errors.js';
import type { Result } from './errors.js';
import { toUnits } from './quantity.js';

/** A row that failed; the rows that are not listed succeeded. */
export interface RowFailure {
  index: number;
  code: RowFailureCode;
  message: string;
}

/** What a row did, or in a dry run would have done; in millionths. */
export interface RowChange extends Omit<RowApplied, 'ok'> {
  index: number;
  locationId: string;
}

/** `data` of the inventory update (spec §Inventory batch result). */
export interface BatchResult {
  results: (
    | { index: number; ok: true; id: string }
    | ({ index: number; ok: true; id: string } & RowReport)
    | { index: number; ok: false; error: { code: RowFailureCode; message: string } }
  )[];
  okCount: number;
  failedCount: number;
  /** Nothing in v1 skips a row (contract §3.8). */
  skippedCount: number;
}

/** What `return=representation` and a dry run add to a row that is ok (contract §7); in units. */
export interface RowReport {
  locationId: string;
  previous: number;
  applied: number;
  level: number;
  clamped: boolean;
}

/**
 * The answer to a batch: an entry for each row, or, if every row failed with the same code, one request-level error of
 * that code with the rows' messages as details (spec §PATCH inventory "Collapse rule", contract §3.7).
 *
 * @param changes if they were asked for: what each ok row did, reported with it
 */
export function batchResult(
  materialId: string,
  rowCount: number,
  failures: RowFailure[],
  changes: RowChange[] = [],
): Result<BatchResult> {
  const first = failures[0];
  if (first !== undefined && failures.length === rowCount && failures.every(({ code }) => code === first.code)) {
    const details = failures.map(({ index, message }) => ({ path: `/updates/${index}`, message }));
    return fail(first.code, first.message, { details });
  }
  const failureByIndex = new Map(failures.map((failure) => [failure.index, failure]));
  const changeByIndex = new Map(changes.map((change) => [change.index, change]));
  const results = Array.from({ length: rowCount }, (_, index): BatchResult['results'][number] => {
    const failure = failureByIndex.get(index);
    if (failure !== undefined) return { index, ok: false, error: { code: failure.code, message: failure.message } };
    const change = changeByIndex.get(index);
    return { index, ok: true, id: materialId, ...(change && reportOf(change)) };
  });
  return succeed({ results, okCount: rowCount - failures.length, failedCount: failures.length, skippedCount: 0 });
}

function reportOf({ locationId, previous, applied, level, clamped }: RowChange): RowReport {
  return {
    locationId,
    previous: toUnits(previous),
    applied: toUnits(applied),
    level: toUnits(level),
    clamped,
  };
}
