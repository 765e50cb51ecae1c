import { isAlive, signal } from '../../../shared/standalone/processes.js';

const pollMs = 10;

/**
 * Ends a process by a signal, and by SIGKILL if it stays. Waits without a turn of the event loop, as an exit handler
 * must. Returns whether the signal was enough within `goneMsMax`.
 */
export function endNow(pid: number, by: NodeJS.Signals, goneMsMax: number): boolean {
  signal(pid, by);
  const deadline = performance.now() + goneMsMax;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (isAlive(pid) && performance.now() < deadline) Atomics.wait(clock, 0, 0, pollMs);
  const isGone = !isAlive(pid);
  signal(pid, 'SIGKILL');
  return isGone;
}
