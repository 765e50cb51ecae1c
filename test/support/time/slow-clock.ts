const now = performance.now.bind(performance);

/** The monotonic clock of this process while a test has its hand on it; its timers go on as ever. */
export interface SlowClock {
  advance(ms: number): void;
  restore(): void;
}

/**
 * Lets the monotonic clock go so many times slower: a bound that a test does not reach by itself is then not reached in
 * a process that stands still for some seconds either. Deadlines of tests go by the real clock (`own-time.ts`).
 */
export function slowClock(times: number): SlowClock {
  const startMs = now();
  let aheadMs = 0;
  performance.now = () => startMs + (now() - startMs) / times + aheadMs;
  return {
    advance: (ms) => (aheadMs += ms),
    restore: () => {
      performance.now = now;
    },
  };
}
