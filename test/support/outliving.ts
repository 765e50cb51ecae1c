import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

const stepsARound = 100;

/**
 * What of a step outlives two collections of the young generation, on average, though it is garbage by then: the bytes by
 * which the old one grows. A full collection in between would take all of it, so all steps together are to leave no more
 * than some MiB: V8 made none within 5, and one within 20.
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
    await new Promise(setImmediate);
    collectYoung();
  };
  // What the first steps compile and keep is not theirs.
  await run(steps / 4);
  collect();
  const before = oldBytes();
  await run(steps);
  return (oldBytes() - before) / steps;
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => /^(old|large_object)_space$/.test(name));
  return old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}
