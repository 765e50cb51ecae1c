/** A clock that runs only while this process does. */
export interface RunningClock {
  /** Milliseconds since its start, to one tick. */
  nowMs: () => number;
  stop: () => void;
}

const tickMs = 100;

/**
 * Measures how long others are silent. A process that stood still (stopped, throttled, or its machine was) finds all
 * timers due at once, before it has read its sockets: by the time of day everyone would have been silent. Here each
 * tick counts once, however late it comes, and the sockets are read between two ticks.
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
