import type { Count, Figure } from '../support/long-run/counting.js';
import { residentMib } from '../support/memory/resident-memory.js';

/** Above what one full collection more or less makes; a leak of a kilobyte a request passes it after 100,000. */
const growthMibMax = 64;
const residentMibMax = 250;

/** Looks at a process's memory after a tenth of a run, when it has what it needs, and at the end. */
export function watchMemory(pid: number, size: number): { look: (count: Count) => void; figures: () => Figure[] } {
  let warmMib: number | undefined;
  return {
    look: (count) => {
      if (count.made() >= size / 10) warmMib ??= residentMib(pid);
    },
    figures: () => {
      const endMib = residentMib(pid);
      return [
        { name: 'API after a tenth (MiB)', value: warmMib ?? endMib },
        { name: 'API at the end (MiB)', value: endMib, most: residentMibMax },
        { name: 'grown (MiB)', value: endMib - (warmMib ?? endMib), most: growthMibMax },
      ];
    },
  };
}
