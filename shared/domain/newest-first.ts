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
 * That is the order of a merge that always takes the newest of the levels' last entries: an entry comes right after
 * those that stand above it in its level and are older by time, operation and row. So it depends on the entries alone.
 * Since all entries of a transaction appear at once, a page that begins in the middle of one finds the order of the
 * page before.
 */
export function newestFirst<T extends LedgerPlace>(entries: readonly T[], count: number): T[] {
  /** Of each level the oldest entry so far, from the last one down. */
  const oldest = new Map<string, T>();
  const placed = entries
    .toSorted((one, other) => other.sequence - one.sequence)
    .map((entry) => {
      const above = oldest.get(entry.levelId);
      const comesWith = above !== undefined && isNewer(entry, above) ? above : entry;
      oldest.set(entry.levelId, comesWith);
      return { entry, comesWith };
    });
  return placed
    .sort((one, other) => {
      if (one.comesWith === other.comesWith) return other.entry.sequence - one.entry.sequence;
      return isNewer(one.comesWith, other.comesWith) ? -1 : 1;
    })
    .slice(0, count)
    .map(({ entry }) => entry);
}

function isNewer(one: LedgerPlace, other: LedgerPlace): boolean {
  const isSameOperation = one.atMs === other.atMs && one.operationId === other.operationId;
  if (isSameOperation) return one.rowIndex > other.rowIndex;
  return one.atMs > other.atMs || (one.atMs === other.atMs && one.operationId > other.operationId);
}
