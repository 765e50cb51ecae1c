/** Bounds the rows that rounds read, where a round learns only afterwards how many it has read. */
export interface RowAllowance {
  /** @returns whether the round may read; not if earlier ones have read so much that it must be made up for */
  beginRound(): boolean;
  spend(rows: number): void;
}

/** Rows that a round does not read are not saved for later, so that there is no burst after a quiet hour. */
export function createRowAllowance(rowsPerRound: number): RowAllowance {
  let left = 0;
  return {
    beginRound() {
      left = Math.min(rowsPerRound, left + rowsPerRound);
      return left > 0;
    },
    spend(rows) {
      left -= rows;
    },
  };
}
