import { spawnSync } from 'node:child_process';
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

/** What Node takes to start where nobody is in its way, on the slowest machine that these tests have met. */
const usualStartMs = 150;
const slownessMax = 20;
/** For so long a measurement holds, since a thousand deadlines may be over at the same moment. */
const slownessMs = 2_000;
let slow: { atMs: number; times: number } = { atMs: -Infinity, times: 1 };

/** How many times slower than usual this machine is, by how long it takes to start Node; 1 to 20. */
export function slownessOf(startMs: number): number {
  return Math.min(slownessMax, Math.max(1, startMs / usualStartMs));
}

/**
 * Not all hosts that are short of CPU say what they take: one had a worker start for more than 20 s that else takes one,
 * with no time stolen by its word. Measured only where a deadline would be over, and then as long as this process waits.
 */
function slowness(): number {
  const beganMs = performance.now();
  if (beganMs - slow.atMs > slownessMs) {
    spawnSync(process.execPath, ['-e', '0'], { stdio: 'ignore' });
    slow = { atMs: performance.now(), times: slownessOf(performance.now() - beganMs) };
  }
  return slow.times;
}

/**
 * What is left of a deadline, in milliseconds of the machine's own time: nothing once it is over, also if the machine is
 * as slow as it is just now. What a test waits for is to happen sooner or later; how soon is for measurements to say.
 */
export function leftOf(deadlineMs: number, passedMs: number): number {
  return passedMs < deadlineMs ? deadlineMs - passedMs : Math.max(0, deadlineMs * slowness() - passedMs);
}

/** As `setTimeout`, but acts once a deadline of this length is over. Returns what takes it back. */
export function afterOwnTime(ms: number, act: () => void): () => void {
  const passedMs = startOwnTime();
  const look = () => {
    const leftMs = leftOf(ms, passedMs());
    if (leftMs <= 0) act();
    else timer = setTimeout(look, leftMs);
  };
  let timer = setTimeout(look, ms);
  return () => {
    clearTimeout(timer);
  };
}
