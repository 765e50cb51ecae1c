/**
 * After this long a cycle begins no further transaction, and leaves the rest out: its lane must not look stuck
 * (`stuckMs`). It takes this long only if Postgres is slow and transactions overstay their time.
 */
export const cycleMsMax = 20_000;

/** What bounds the work of a cycle. */
export interface CycleLimits {
  /** Redis' clock, by which operations expire. */
  nowMs: () => number;
  /** Whether the lane is to stop. */
  isStopping: () => boolean;
  /**
   * To be called before each transaction, save the one that records an operation as failed that has just failed twice.
   * False if it must not begin. Once the cycle has lasted too long, none may. If the lane is to stop, the first may all
   * the same, and after it none: the one under way is the last. For this a call counts as a beginning.
   */
  tryBegin: () => boolean;
}

/** @param endMs by `performance.now()` */
export function createCycleLimits({
  nowMs,
  isStopping,
  endMs = performance.now() + cycleMsMax,
}: Omit<CycleLimits, 'tryBegin'> & { endMs?: number }): CycleLimits {
  let hasBegun = false;
  return {
    nowMs,
    isStopping,
    tryBegin() {
      const isOver = performance.now() >= endMs || (hasBegun && isStopping());
      hasBegun = true;
      return !isOver;
    },
  };
}
