/** Time as far as this process ran in it. */
export interface RunningClock {
  /** Milliseconds since its start, to one tick. */
  nowMs: () => number;
  stop: () => void;
}

const tickMs = 100;

/**
 * What a silence is measured with. A process that stood still (stopped, throttled, or its machine was) finds all timers
 * due at once, before it has read what lies in its sockets: by the time of day everyone would have been silent. Here each
 * tick counts once, however late it comes, and between two of them the sockets are read.
 */
export function startRunningClock(): RunningClock {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), tickMs);
  // What measures must not be what keeps a process from its end.
  timer.unref();
  return {
    nowMs: () => ticks * tickMs,
    stop() {
      clearInterval(timer);
    },
  };
}
