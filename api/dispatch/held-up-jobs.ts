import { jobsSentMax, writesInHandMax } from './shop-limits.js';
import type { FormedJob } from './waiter.js';

/** The jobs that something holds up, as a lock of another session, by their shops. */
export interface HeldUpJobs {
  /** Whether it was taken in: not twice, and no more than `jobsSentMax` of a shop. */
  add: (job: FormedJob) => boolean;
  /** Whether it was one of them. */
  end: (job: FormedJob) => boolean;
  /** How many writes a shop has in hand for the materials of these; at most `writesInHandMax` count. */
  writesOf: (shopId: number) => number;
}

/** @param writesBehind how many writes of a job's material are in hand: its own, and those that wait for its end */
export function createHeldUpJobs(writesBehind: (job: FormedJob) => number): HeldUpJobs {
  const shops = new Map<number, Set<FormedJob>>();
  return {
    add(job) {
      const jobs = shops.get(job.ref.shopId) ?? new Set();
      if (jobs.has(job) || jobs.size >= jobsSentMax) return false;
      shops.set(job.ref.shopId, jobs.add(job));
      return true;
    },
    end(job) {
      const jobs = shops.get(job.ref.shopId);
      if (jobs?.delete(job) !== true) return false;
      if (jobs.size === 0) shops.delete(job.ref.shopId);
      return true;
    },
    writesOf(shopId) {
      let writes = 0;
      for (const job of shops.get(shopId) ?? []) {
        writes += writesBehind(job);
        if (writes >= writesInHandMax) return writesInHandMax;
      }
      return writes;
    },
  };
}
