import { constants, PerformanceObserver } from 'node:perf_hooks';
import type { PerformanceEntry } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

const stepsARound = 100;

const attemptsMax = 5;

/**
 * The bytes by which a step makes the old generation grow, on average: what outlives two collections of the young one,
 * though it is garbage by then. A full collection in between takes all of it, so steps that saw one say nothing and are
 * repeated; all steps together are to leave no more than some MiB (V8 made none within 5, and one within 20).
 *
 * @throws where each attempt saw one: there are too many steps
 */
export async function outlivingBytes(steps: number, step: () => unknown): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect & (() => void);
  const collectYoung = () => {
    for (let time = 0; time < 2; time += 1) collect({ type: 'minor' });
  };
  const run = async (count: number) => {
    for (let done = 0; done < count; done += 1) {
      await step();
      if (done % stepsARound === 0) collectYoung();
    }
    // The last ones are on the stack, or in what the event loop has not come to yet.
    await nextTurn();
    collectYoung();
  };
  // What the first steps compile and keep is not to count.
  await run(steps / 4);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    collect();
    const fullCollections = watchFullCollections();
    const before = oldBytes();
    await run(steps);
    const grown = oldBytes() - before;
    if ((await fullCollections.count()) === 0) return grown / steps;
  }
  throw new Error(`${String(steps)} steps are never without a full collection`);
}

/** The bytes that a step leaves behind, on average: what no collection takes, since something still points at it. */
export async function leftBehindBytes(steps: number, step: () => unknown): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const run = async (count: number) => {
    for (let done = 0; done < count; done += 1) await step();
    await nextTurn();
    collect();
    return process.memoryUsage().heapUsed;
  };
  // What the first steps compile and keep is not to count.
  const before = await run(steps / 4);
  return ((await run(steps)) - before) / steps;
}

/** Those that begin from now on. */
function watchFullCollections() {
  const sinceMs = performance.now();
  let seen = 0;
  const note = (entries: PerformanceEntry[]) => {
    for (const entry of entries) {
      const { kind } = (entry as PerformanceEntry & { detail: { kind: number } }).detail;
      if (entry.startTime > sinceMs && kind === constants.NODE_PERFORMANCE_GC_MAJOR) seen += 1;
    }
  };
  const observer = new PerformanceObserver((list) => {
    note(list.getEntries());
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    async count() {
      // Node tells of a collection in a later turn.
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      note(observer.takeRecords());
      observer.disconnect();
      return seen;
    },
  };
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => /^(old|large_object)_space$/.test(name));
  return old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}
