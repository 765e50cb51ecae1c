import { isAlive, signal } from '../../shared/standalone/processes.js';

const goneMsMax = 5_000;
const pollMs = 10;

/** Ends a process by a signal, and by SIGKILL where it stays; it waits without a turn of the event loop, as an exit handler must. */
export function endNow(pid: number, by: NodeJS.Signals): void {
  signal(pid, by);
  const deadline = performance.now() + goneMsMax;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (isAlive(pid) && performance.now() < deadline) Atomics.wait(clock, 0, 0, pollMs);
  signal(pid, 'SIGKILL');
}
