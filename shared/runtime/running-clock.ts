import { tickMs } from './running-wait.js';

/** A clock that runs only while this process does (`running-wait.ts` is a timer of the same kind). */
export interface RunningClock {
  /** Milliseconds since its start, in steps of one tick. */
  nowMs: () => number;
  stop: () => void;
}

/**
 * Measures how long others are silent. If a process stood still (stopped, throttled, or with its machine), its timers
 * fire before it reads its sockets: by any other clock, everyone would have been silent. Here each tick counts once,
 * however late it comes, and the sockets are read between two ticks.
 */
export function startRunningClock(): RunningClock {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), tickMs);
  // A clock must not keep its process alive.
  timer.unref();
  return {
    nowMs: () => ticks * tickMs,
    stop() {
      clearInterval(timer);
    },
  };
}
