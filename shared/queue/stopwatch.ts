/**
 * How many ms have passed since: by the clock that says more. The monotonic one stands still while a machine is
 * suspended, and that of the wall may be set back. A clock that is set forward says too much, which at worst expires what
 * could still have been applied.
 */
export function startStopwatch(clocks: readonly (() => number)[] = [() => performance.now(), Date.now]): () => number {
  const startedMs = clocks.map((now) => now());
  return () => Math.round(Math.max(...clocks.map((now, index) => now() - (startedMs[index] ?? 0))));
}
