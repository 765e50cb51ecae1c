import type { Count, Figure } from '../support/long-run/counting.js';
import { residentMib } from '../support/memory/resident-memory.js';

/** Above what one full collection more or less makes; a leak of a kilobyte a request passes it after 100,000. */
const growthMibMax = 64;
const residentMibMax = 250;

/** So early that even a run of minutes comes to it. */
const warmCountMax = 10_000;

/** Looks at a process's memory early in a run, when it has what it needs, and at the end. */
export function watchMemory(pid: number, size: number): { look: (count: Count) => void; figures: () => Figure[] } {
  let warmMib: number | undefined;
  return {
    look: (count) => {
      if (count.made() >= Math.min(size / 10, warmCountMax)) warmMib ??= residentMib(pid);
    },
    figures: () => {
      const endMib = residentMib(pid);
      return [
        { name: 'API once warm (MiB)', value: warmMib ?? 'none' },
        { name: 'API at the end (MiB)', value: endMib, most: residentMibMax },
        // Of a run that did not come so far it is not known, which misses the bound.
        { name: 'grown (MiB)', value: warmMib === undefined ? 'none' : endMib - warmMib, most: growthMibMax },
      ];
    },
  };
}
