/**
 * Returns a function that tells how many ms have passed since this call, by the clock that says more: the monotonic one
 * stands still while the machine is suspended, and the wall clock may be set back. If the wall clock is set forward, it
 * says too much; at worst, operations then expire that could still have been applied.
 */
export function startStopwatch(clocks: readonly (() => number)[] = [() => performance.now(), Date.now]): () => number {
  const startedMs = clocks.map((now) => now());
  return () => Math.round(Math.max(...clocks.map((now, index) => now() - (startedMs[index] ?? 0))));
}
