import { readMachineTime, stolenPart } from './machine-time.js';
import type { MachineTime } from './machine-time.js';

/** Of the time that its host took, a deadline counts this part all the same, so that what hangs is always found. */
const countedPartMin = 0.05;

/**
 * How much of the elapsed time this machine had to itself: all of it, unless its host took CPU from processes that
 * could have run; then only the part in which they did.
 */
export function ownPart(elapsedMs: number, before: MachineTime | undefined, after: MachineTime | undefined): number {
  return elapsedMs * Math.max(countedPartMin, 1 - (stolenPart(before, after) ?? 0));
}

/** A reading may be this old, so that a request of a fuzz run need not cost one of its own. */
const readingMsMax = 50;
let latest: { atMs: number; time: MachineTime | undefined } = { atMs: -Infinity, time: undefined };

function machineTime(): MachineTime | undefined {
  const nowMs = performance.now();
  if (nowMs - latest.atMs > readingMsMax) latest = { atMs: nowMs, time: readMachineTime() };
  return latest.time;
}

/** A stopwatch of the machine's own time, in milliseconds: what deadlines of tests are counted in. */
export function startOwnTime(): () => number {
  const beganMs = performance.now();
  const before = machineTime();
  return () => ownPart(performance.now() - beganMs, before, machineTime());
}

/** As `setTimeout`, but acts once the machine has had this much time of its own. Returns what takes it back. */
export function afterOwnTime(ms: number, act: () => void): () => void {
  const passedMs = startOwnTime();
  const look = () => {
    const leftMs = ms - passedMs();
    if (leftMs <= 0) act();
    else timer = setTimeout(look, leftMs);
  };
  let timer = setTimeout(look, ms);
  return () => {
    clearTimeout(timer);
  };
}
