import type { Figure } from '../long-run/counting.js';
import { isExecuted } from '../history/history.js';
import type { History, Intent } from '../history/history.js';

/**
 * The recovery from a fault, in milliseconds: from the fault until the last of the changes that were on their way at
 * that moment had its executed answer, whatever it was answered before and however often it had to be sent again.
 * Clients that the fault did not touch are answered within milliseconds and so do not count. If a second fault hits a
 * change before it has recovered from the first, both times count for the first, so the figure errs on the high side.
 * It includes what the fault itself takes, such as a server's restart by the test.
 *
 * @param faultsMs when they happened, by `performance.now()`; one that found nothing on its way has no recovery
 */
export function recoveriesOf({ intents }: History, faultsMs: number[]): number[] {
  return faultsMs.flatMap((faultMs) => {
    const open = intents.map(spanOf).filter(({ sentMs, executedMs }) => sentMs <= faultMs && executedMs > faultMs);
    return open.length === 0 ? [] : [Math.max(...open.map(({ executedMs }) => executedMs - faultMs))];
  });
}

function spanOf({ attempts }: Intent): { sentMs: number; executedMs: number } {
  const executed = attempts.find(({ answer }) => answer !== undefined && isExecuted(answer));
  return { sentMs: attempts[0]?.sentMs ?? Infinity, executedMs: executed?.answeredMs ?? Infinity };
}

/** p50, p99 and the longest of some times, for the table of a long run. @param most what the p99 may be */
export function timesFigures(name: string, timesMs: number[], most?: number): Figure[] {
  return [
    { name: `${name} p50 (ms)`, value: percentile(timesMs, 50) ?? 'none' },
    { name: `${name} p99 (ms)`, value: percentile(timesMs, 99) ?? 'none', ...(most !== undefined && { most }) },
    { name: `${name} max (ms)`, value: percentile(timesMs, 100) ?? 'none' },
  ];
}

/** By nearest rank, so that it is a time that was seen; undefined where there are none. */
function percentile(timesMs: number[], percent: number): number | undefined {
  const sorted = timesMs.toSorted((one, other) => one - other);
  const found = sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1];
  return found === undefined ? undefined : Math.round(found);
}
