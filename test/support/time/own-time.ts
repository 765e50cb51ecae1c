import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readMachineTime, stolenPart } from './machine-time.js';
import type { MachineTime } from './machine-time.js';

/** The clock as it was before a test put another one in its place. */
const now = performance.now.bind(performance);

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
  const nowMs = now();
  if (nowMs - latest.atMs > readingMsMax) latest = { atMs: nowMs, time: readMachineTime() };
  return latest.time;
}

/** A stopwatch of the machine's own time, in milliseconds: what deadlines of tests are counted in. */
export function startOwnTime(): () => number {
  const beganMs = now();
  const before = machineTime();
  return () => ownPart(now() - beganMs, before, machineTime());
}

/**
 * What Node takes to start beside five busy processes, on the slowest machine that these tests have met (0.36 to 0.42
 * s; 0.1 alone). Where the suite runs as usual no deadline is longer for it, and bounds that are promises stay as they
 * are.
 */
const usualStartMs = 400;
const slownessMax = 20;

/** How many times slower than usual a machine is that takes so long to start Node; 1 to 20. */
export function slownessOf(startMs: number): number {
  return Math.min(slownessMax, Math.max(1, startMs / usualStartMs));
}

/** No more than one measurement in this time, since a thousand deadlines may be over at the same moment. */
const measureEveryMs = 2_000;
/** No deadline looks further back. */
const measurementsMax = 100;
const measurements: { beganMs: number; slowness: number }[] = [];
let measuring: Promise<void> | undefined;

async function measure(): Promise<void> {
  const beganMs = now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  measurements.push({ beganMs, slowness: slownessOf(now() - beganMs) });
  measurements.splice(0, measurements.length - measurementsMax);
  measuring = undefined;
}

/**
 * Not all hosts that are short of CPU say what they take: one had a worker start for more than 20 s that else takes
 * one, with no time stolen by its word.
 */
async function slownessSince(sinceMs: number): Promise<number> {
  const last = measurements.at(-1)?.beganMs ?? -Infinity;
  if (now() - last > measureEveryMs) await (measuring ??= measure());
  return Math.max(1, ...measurements.filter(({ beganMs }) => beganMs >= sinceMs).map(({ slowness }) => slowness));
}

/**
 * What is left of a deadline, in milliseconds of the machine's own time. Where the machine is slow it is longer by as
 * much, measured from its half on: what a test waits for is to happen sooner or later, and how soon is for measurements
 * to say.
 */
export async function leftOf(deadlineMs: number, passedMs: number): Promise<number> {
  if (passedMs < deadlineMs / 2) return deadlineMs - passedMs;
  return Math.max(0, deadlineMs * (await slownessSince(now() - passedMs)) - passedMs);
}

/** As `setTimeout`, but acts once a deadline of this length is over. Returns what takes it back. */
export function afterOwnTime(ms: number, act: () => void): () => void {
  const passedMs = startOwnTime();
  let isTakenBack = false;
  const look = async () => {
    const leftMs = await leftOf(ms, passedMs());
    if (isTakenBack) return;
    if (leftMs <= 0) act();
    else timer = setTimeout(() => void look(), leftMs);
  };
  let timer = setTimeout(() => void look(), ms / 2);
  return () => {
    isTakenBack = true;
    clearTimeout(timer);
  };
}
