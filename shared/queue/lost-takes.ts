/** The takes of a worker whose answers were lost: Redis may have run them, or may still do so. */
export interface LostTakes {
  add: (token: string) => void;
  /** Those to be freed now. */
  tokens(): string[];
  /** These were freed: whatever Redis had run by then of them is in line again. */
  freed(tokens: readonly string[]): void;
}

/**
 * How long a take is freed again after the first time: longer than Redis goes on with a connection whose end it has not
 * heard of (a second, behind a blocking pop) and than a lease lasts.
 */
const againMs = 6_000;

/** So many connections are not lost in that time. */
const tokensMax = 100;

/** @param nowMs a monotonic clock */
export function createLostTakes(nowMs: () => number = () => performance.now()): LostTakes {
  /** Until when each is to be freed; not known before Redis has done so once, since Redis may be away for long. */
  const untilMs = new Map<string, number>();
  return {
    add(token) {
      untilMs.set(token, Infinity);
      const [oldest] = untilMs.keys();
      if (untilMs.size > tokensMax && oldest !== undefined) untilMs.delete(oldest);
    },
    tokens() {
      for (const [token, endMs] of untilMs) if (nowMs() > endMs) untilMs.delete(token);
      return [...untilMs.keys()];
    },
    freed(tokens) {
      const endMs = nowMs() + againMs;
      for (const token of tokens) if (untilMs.get(token) === Infinity) untilMs.set(token, endMs);
    },
  };
}
