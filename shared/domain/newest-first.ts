/** Where an entry of the ledger stands. Entries of one material with the same time were booked by one transaction. */
export interface LedgerPlace {
  atMs: number;
  levelId: string;
  /** Of the level, without gaps. */
  sequence: number;
  operationId: string;
  rowIndex: number;
}

/**
 * The newest `count` entries of one material, newest first: by time, and within one time by operation and row. Entries
 * of one level always stand by their sequence, even if the operations of a transaction ran in another order than that
 * of their ids, as happens when two API processes write to one material. So a reader who follows a level from entry to
 * entry sees each begin where the one before it ended.
 *
 * It merges the levels by comparing the newest entry left of each. So the order depends on the entries alone, and
 * because a transaction is there whole or not at all, a page that begins in the middle of one finds it as it was.
 */
export function newestFirst<T extends LedgerPlace>(entries: readonly T[], count: number): T[] {
  const byLevel = new Map<string, T[]>();
  for (const entry of entries.toSorted((one, other) => one.sequence - other.sequence)) {
    const level = byLevel.get(entry.levelId);
    if (level === undefined) byLevel.set(entry.levelId, [entry]);
    else level.push(entry);
  }
  const ordered: T[] = [];
  while (ordered.length < count) {
    let newest: T | undefined;
    for (const level of byLevel.values()) {
      const last = level.at(-1);
      if (last !== undefined && (newest === undefined || isNewer(last, newest))) newest = last;
    }
    if (newest === undefined) break;
    ordered.push(newest);
    byLevel.get(newest.levelId)?.pop();
  }
  return ordered;
}

function isNewer(one: LedgerPlace, other: LedgerPlace): boolean {
  const isSameOperation = one.atMs === other.atMs && one.operationId === other.operationId;
  if (isSameOperation) return one.rowIndex > other.rowIndex;
  return one.atMs > other.atMs || (one.atMs === other.atMs && one.operationId > other.operationId);
}
