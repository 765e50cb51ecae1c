import type { Count } from '../support/long-run/counting.js';

/** What runs cases, one after the other. */
export interface Lane {
  run(index: number): Promise<void>;
  close(): void;
}

/** `TEST_CASE=17` runs that one case alone: each is made of the seed and its number, whatever runs beside it. */
const only = process.env.TEST_CASE;

/**
 * Runs the cases 0, 1, 2 … on so many lanes until they are counted. The first that fails ends it; its error is thrown
 * once no lane runs any more, so that nothing is still asked of a service that is being stopped.
 */
export async function sideBySide(count: Count, lanes: number, openLane: () => Lane): Promise<void> {
  let next = Number(only ?? 0);
  const end = only === undefined ? count.left() : next + 1;
  const work = async () => {
    const lane = openLane();
    try {
      while (next < end && count.left() > 0) {
        const index = next;
        next += 1;
        await lane.run(index);
        count.add();
      }
    } finally {
      next = end;
      lane.close();
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: lanes }, work));
  for (const ended of ends) if (ended.status === 'rejected') throw ended.reason;
}
