import type { FormedJob } from './waiter.js';

/**
 * Jobs in flight at once of a shop that has this process to itself: what two worker processes hold (2 lanes of 32
 * materials each). That keeps the workers busy; more would only stand in line there.
 */
export const jobsSentMax = 128;

/**
 * Jobs in flight at once of a shop that has others beside it. The more go round together, the longer each turn of this
 * process and of a lane, which all other shops wait for. Beside a flood of 700 connections with 128 jobs in flight, the
 * other shop's p99 was 107 ms. Now that full collections of garbage are rare, it is 17 ms with 16, and 10 ms with 10;
 * the flood still has half of what it has alone, its fair share of two. Two floods have a tenth less together.
 */
export const jobsSentBesideMax = 10;

/** Writes worth holding of a shop that has this process to itself: those in flight, and as many again to come next. */
export const writesInHandMax = 2 * jobsSentMax;

/**
 * Likewise beside others. Every garbage collection copies what is held, and all shops wait meanwhile: with 256 in hand
 * it took 7 ms, 18 times a second. Not fewer, because writes of one material go together, and the more the better: with
 * 32 a flood of one material gets half of what it would have alone, with 24 two fifths.
 */
export const writesInHandBesideMax = 32;

/** A shop counts as beside the others from its first write until this long after its last. */
export const besideMs = 1_000;

/** Lets out as many of a shop's jobs at once as are allowed; the others wait here, where waiting costs nothing. */
export interface ShopGates {
  /** A material, named by its queue, may have a job to send; `form` makes it when its turn comes. */
  markDue: (shopId: number, queue: string) => void;
  /** A job that was sent needs its place no longer. */
  leave: (shopId: number) => void;
  /**
   * Sends what is due now. At the end of the turn it would go out behind the answers to a reply: a hundred answers take
   * milliseconds, in which the workers have nothing to do.
   */
  sendDue: () => void;
  /** Writes of one shop that are worth holding now; more would only wait here. */
  inHandMax: () => number;
}

interface Gate {
  /** Jobs in flight; jobs and not operations, so that a material that is locked takes one place. */
  sent: number;
  /** Materials by their queues, the one that has waited longest first. */
  due: Set<string>;
  /** Of the monotonic clock, the last time that a material was due. */
  usedMs: number;
}

export interface ShopGatesDeps {
  /** The next job of the material of this queue, if it has one. */
  form: (queue: string) => FormedJob | undefined;
  send: (jobs: FormedJob[]) => void;
}

export function createShopGates({ form, send }: ShopGatesDeps): ShopGates {
  const gates = new Map<number, Gate>();
  /** The shops that may have a job to send at the end of this turn. */
  let dueShops = new Set<number>();
  let lookedMs = 0;

  function gateOf(shopId: number): Gate {
    const gate = gates.get(shopId) ?? { sent: 0, due: new Set(), usedMs: 0 };
    gates.set(shopId, gate);
    return gate;
  }

  function flushSoon(shopId: number): void {
    // After this turn of the event loop, so that what arrived in one read of the sockets goes as one job a material,
    // and all of these jobs in one transaction.
    if (dueShops.size === 0) setImmediate(flush);
    dueShops.add(shopId);
  }

  function flush(): void {
    if (dueShops.size === 0) return;
    const shops = dueShops;
    dueShops = new Set();
    forgetIdle();
    send([...shops].flatMap(nextJobs));
  }

  const isOneBesideOthers = () => gates.size > 1;

  function nextJobs(shopId: number): FormedJob[] {
    const gate = gateOf(shopId);
    const max = isOneBesideOthers() ? jobsSentBesideMax : jobsSentMax;
    const jobs: FormedJob[] = [];
    for (const queue of gate.due) {
      if (gate.sent >= max) break;
      gate.due.delete(queue);
      const job = form(queue);
      if (job === undefined) continue;
      gate.sent += 1;
      jobs.push(job);
    }
    return jobs;
  }

  /** Called by a flush alone: without one, nobody waits for the places that an idle shop leaves free. */
  function forgetIdle(): void {
    const nowMs = performance.now();
    if (nowMs - lookedMs < besideMs / 4) return;
    lookedMs = nowMs;
    for (const [shopId, { sent, due, usedMs }] of gates) {
      if (sent === 0 && due.size === 0 && nowMs - usedMs > besideMs) gates.delete(shopId);
    }
  }

  return {
    markDue(shopId, queue) {
      const gate = gateOf(shopId);
      gate.due.add(queue);
      gate.usedMs = performance.now();
      flushSoon(shopId);
    },
    leave(shopId) {
      gateOf(shopId).sent -= 1;
      flushSoon(shopId);
    },
    sendDue: flush,
    inHandMax: () => (isOneBesideOthers() ? writesInHandBesideMax : writesInHandMax),
  };
}
