/**
 * Tells how many ms have passed since it was started, by the clock that says more: the monotonic one stands still while
 * a machine is suspended, and the wall clock may be set back. A clock that is set forward says too much, which at worst
 * expires what could still have been applied.
 */
export function startStopwatch(clocks: readonly (() => number)[] = [() => performance.now(), Date.now]): () => number {
  const startedMs = clocks.map((now) => now());
  return () => Math.round(Math.max(...clocks.map((now, index) => now() - (startedMs[index] ?? 0))));
}
