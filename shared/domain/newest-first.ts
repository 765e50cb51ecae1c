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
 * The newest `count` entries of one material, newest first: by time, and at the same time by operation and row. But the
 * entries of one level are always in the order of their sequence, even if the operations of a transaction ran in
 * another order than that of their ids, as happens when two API processes write to one material. So a reader who
 * follows a level sees each entry begin where the one before it ended.
 *
 * It merges the levels, always taking the newest of their last entries. So the order depends on the entries alone.
 * Since all entries of a transaction appear at once, a page that begins in the middle of one finds the order of the
 * page before.
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
