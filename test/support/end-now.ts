import { isAlive, signal } from '../../shared/standalone/processes.js';

/** Below the bounds at which an API or a worker that is stuck forces its own end (20 s). */
const goneMsMax = 15_000;
const pollMs = 10;

/**
 * Ends a process by a signal, and by SIGKILL where it stays; it waits without a turn of the event loop, as an exit handler
 * must. Returns whether the signal was enough.
 */
export function endNow(pid: number, by: NodeJS.Signals): boolean {
  signal(pid, by);
  const deadline = performance.now() + goneMsMax;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (isAlive(pid) && performance.now() < deadline) Atomics.wait(clock, 0, 0, pollMs);
  const isGone = !isAlive(pid);
  signal(pid, 'SIGKILL');
  return isGone;
}
