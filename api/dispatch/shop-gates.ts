import { createHeldUpJobs } from './held-up-jobs.js';
import { jobsSentMax, jobsSentSharedMax, shopActiveMs, writesInHandMax, writesInHandSharedMax } from './shop-limits.js';
import type { FormedJob } from './waiter.js';

/** Sends at most so many of a shop's jobs at once; the others wait here, where waiting costs next to nothing. */
export interface ShopGates {
  /** The material of this queue may have a job to send. When there is a place for it, `form` makes it. */
  markDue: (shopId: number, queue: string) => void;
  /** A job that was sent has come to its end: its place is free, unless it was held up and had none. */
  leave: (job: FormedJob) => void;
  /**
   * Something holds up a job that was sent, as a lock of another session: it gives its place to another, if the shop
   * has no more than so many of these. Otherwise ten locked materials would keep all others of their shop waiting.
   */
  holdUp: (job: FormedJob) => void;
  /**
   * Sends what is due, now and not at the end of this turn of the event loop. After a reply that would be after its
   * answers are written: a hundred take milliseconds, in which the workers would have nothing to do.
   */
  sendDue: () => void;
  /**
   * How many writes of a shop are worth holding now; any more would only wait here. Those of materials that are held up
   * come on top, up to a bound: they cannot start, and must not keep those of others from being read (with 40 of them
   * among 32, four other connections of the shop made 5 changes a second).
   */
  inHandMax: (shopId: number) => number;
}

interface Gate {
  /**
   * Jobs in flight, without those that are held up. Jobs and not operations, so that a material that is locked takes
   * only one place.
   */
  sent: number;
  /** Materials by their queues, the one that has waited longest first. */
  due: Set<string>;
  /** When a material was last marked due, by `performance.now()`. */
  usedMs: number;
}

export interface ShopGatesDeps {
  /** The next job of the material of this queue, if it has one. */
  form: (queue: string) => FormedJob | undefined;
  send: (jobs: FormedJob[]) => void;
  /** How many writes of a job's material are in hand: the job's own, and those that wait for its end. */
  writesBehind: (job: FormedJob) => number;
}

export function createShopGates({ form, send, writesBehind }: ShopGatesDeps): ShopGates {
  const gates = new Map<number, Gate>();
  /** Apart from the gates, since a shop that has only jobs that are held up uses this process no more. */
  const heldUp = createHeldUpJobs(writesBehind);
  /** The shops that may have a job to send by the end of this turn of the event loop. */
  let dueShops = new Set<number>();
  let forgotAtMs = 0;

  function gateOf(shopId: number): Gate {
    const gate = gates.get(shopId) ?? { sent: 0, due: new Set(), usedMs: 0 };
    gates.set(shopId, gate);
    return gate;
  }

  function flushSoon(shopId: number): void {
    // Not before the end of this turn of the event loop, so that all requests that it reads from the sockets are
    // combined into one job for each material, and all of these jobs into one transaction.
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

  /** Whether more than one shop uses this process. */
  const isShared = () => gates.size > 1;

  function nextJobs(shopId: number): FormedJob[] {
    const gate = gateOf(shopId);
    const max = isShared() ? jobsSentSharedMax : jobsSentMax;
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

  /** Called by a flush only: if nothing is to be sent, it does not matter that idle shops still count. */
  function forgetIdle(): void {
    const nowMs = performance.now();
    if (nowMs - forgotAtMs < shopActiveMs / 4) return;
    forgotAtMs = nowMs;
    for (const [shopId, { sent, due, usedMs }] of gates) {
      if (sent === 0 && due.size === 0 && nowMs - usedMs > shopActiveMs) gates.delete(shopId);
    }
  }

  function freePlace({ ref }: FormedJob): void {
    gateOf(ref.shopId).sent -= 1;
    flushSoon(ref.shopId);
  }

  return {
    markDue(shopId, queue) {
      const gate = gateOf(shopId);
      gate.due.add(queue);
      gate.usedMs = performance.now();
      flushSoon(shopId);
    },
    leave(job) {
      if (!heldUp.end(job)) freePlace(job);
    },
    holdUp(job) {
      if (heldUp.add(job)) freePlace(job);
    },
    sendDue: flush,
    inHandMax: (shopId) => (isShared() ? writesInHandSharedMax : writesInHandMax) + heldUp.writesOf(shopId),
  };
}
