import { toMicros } from '../../../shared/domain/quantity.js';
import { isExecuted } from './history.js';
import type { Intent, LevelRead } from './history.js';
import type { LedgerRow, MaterialLedger } from './ledger-rows.js';

/** Every level that was read was a state of that level between the start and the end of the read (reliability §2). */
export function faultsOfReads({ levels }: MaterialLedger, owners: Map<string, Intent>, reads: LevelRead[]): string[] {
  const faults: string[] = [];
  for (const [locationId, rows] of levels) {
    const spans = rows.map((row) => spanOf(row, owners));
    for (const read of reads) {
      const level = toMicros(read.levels.get(locationId) ?? 0);
      // State n is the one after n rows: at least those answered before the read, at most those sent before its end.
      const least = spans.findLastIndex(({ answeredMs }) => answeredMs < read.sentMs) + 1;
      const beyond = spans.findIndex(({ sentMs }) => sentMs > read.answeredMs);
      const most = beyond < 0 ? rows.length : beyond;
      const isState = (count: number) => (count === 0 ? 0 : rows[count - 1]?.level) === level;
      let found = false;
      for (let count = least; count <= most && !found; count += 1) found = isState(count);
      if (!found) {
        faults.push(`${String(level)} was read at ${locationId}, no state from ${String(least)} to ${String(most)}`);
      }
    }
  }
  return faults;
}

function spanOf({ operationId }: LedgerRow, owners: Map<string, Intent>): { sentMs: number; answeredMs: number } {
  const attempts = owners.get(operationId)?.attempts ?? [];
  const heard = attempts.find(({ answer }) => answer !== undefined && isExecuted(answer));
  return { sentMs: attempts[0]?.sentMs ?? -Infinity, answeredMs: heard?.answeredMs ?? Infinity };
}
