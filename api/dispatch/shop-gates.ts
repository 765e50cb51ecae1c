import type { SentJob } from './waiter.js';

/**
 * Jobs of a shop that are in flight at once: what two worker processes hold (2 lanes of 32 materials each). That keeps the
 * workers busy; more would only stand in line there, and the more go round, the longer each turn of this process, which
 * every other shop waits for.
 */
export const jobsSentMax = 128;

/** Lets a shop's jobs out, as many at once as may be; who waits does so here, where it costs nothing. */
export interface ShopGates {
  /** A material may have a job to send; it is asked for it when its turn comes. */
  markDue: (shopId: number, material: string) => void;
  /** A job that was sent needs its place no longer. */
  leave: (shopId: number) => void;
}

interface Gate {
  /** Jobs in flight; jobs and not operations, so that a material that is locked takes one place. */
  sent: number;
  /** Materials, the one that has waited longest first. */
  due: Set<string>;
}

export interface ShopGatesDeps {
  /** The next job of a material, if it has one. */
  form: (material: string) => SentJob | undefined;
  send: (jobs: SentJob[]) => void;
}

export function createShopGates({ form, send }: ShopGatesDeps): ShopGates {
  const gates = new Map<number, Gate>();
  /** The shops that may have a job to send at the end of this turn. */
  let dueShops = new Set<number>();

  function gateOf(shopId: number): Gate {
    const gate = gates.get(shopId) ?? { sent: 0, due: new Set() };
    gates.set(shopId, gate);
    return gate;
  }

  function flushSoon(shopId: number): void {
    // After this turn of the event loop, so that what arrived in one read of the sockets goes as one job a material, and
    // all of these jobs in one transaction.
    if (dueShops.size === 0) setImmediate(flush);
    dueShops.add(shopId);
  }

  function flush(): void {
    const shops = dueShops;
    dueShops = new Set();
    send([...shops].flatMap(nextJobs));
  }

  function nextJobs(shopId: number): SentJob[] {
    const gate = gateOf(shopId);
    const jobs: SentJob[] = [];
    for (const material of gate.due) {
      if (gate.sent >= jobsSentMax) break;
      gate.due.delete(material);
      const job = form(material);
      if (job === undefined) continue;
      gate.sent += 1;
      jobs.push(job);
    }
    if (gate.sent === 0 && gate.due.size === 0) gates.delete(shopId);
    return jobs;
  }

  return {
    markDue(shopId, material) {
      gateOf(shopId).due.add(material);
      flushSoon(shopId);
    },
    leave(shopId) {
      gateOf(shopId).sent -= 1;
      flushSoon(shopId);
    },
  };
}
