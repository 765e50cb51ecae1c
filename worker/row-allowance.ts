/** How many rows may be read in each of many rounds, where a round learns only afterwards how many it has read. */
export interface RowAllowance {
  /** @returns whether the round may read: if earlier ones have read too much, later ones wait to make it good */
  beginRound(): boolean;
  spend(rows: number): void;
}

/** What is not read in a round is not saved up: after a quiet hour there is no burst. */
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
