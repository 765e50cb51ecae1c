import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { advanceIn, nothingHeld, readAdvanced } from '../shared/queue/leases.js';
import type { Held, Taker } from '../shared/queue/leases.js';
import { materialsPerCycleMax } from '../shared/queue/limits.js';
import { keys } from '../shared/queue/names.js';
import { createBatch } from '../shared/redis/batch.js';
import type { Answer } from '../shared/redis/batch.js';

/** Lets the idle lanes of a process wait for work on one blocking connection. */
export interface Waker {
  /**
   * Waits for an announcement and takes what is ready then. Resolves with nothing if there may be work that it could
   * not take: after a second at the latest, and at once when closed.
   */
  take(taker: Taker): Promise<Held>;
  /**
   * Lets every lane go on, and from now on lets none wait. Resolves once Redis cannot take anything for them any more:
   * it has ended the connection, or two seconds have passed without a sign of it. Calling it again changes nothing.
   */
  close(): Promise<void>;
}

const waitSecondsMax = 1;

/** How often lanes look for work while the connection that would wake them is away. */
const lookMs = 100;

interface WaitingLane {
  taker: Taker;
  goOn: (held: Held) => void;
}

interface Woken {
  held: Held;
  /** Whether something was announced, and not only a second has passed. */
  isAnnounced: boolean;
  /** Whether the connection is away, or Redis refuses to wait. */
  isRefused: boolean;
}

/**
 * The blocking pop only wakes; the take itself is a script (pipeline §2.4). It is sent right behind the pop, so Redis
 * runs it the moment something is announced, a round trip earlier than if the worker had to ask for it. Until then it
 * is not run, because Redis reads nothing of a connection that it blocks. What it takes counts as taken when the wait
 * began, up to a second too early, and an operation has ten minutes until it expires.
 *
 * What is taken for a worker that has died or stands still waits until its connection is seen to be gone or its lease
 * runs out, as whatever it holds. A wake-up alone that is lost with its worker loses no material: the next
 * announcement, or the sweep, brings another.
 *
 * @param redis a connection of its own that knows the scripts
 */
export function createWaker(redis: Redis): Waker {
  const waiting: WaitingLane[] = [];
  let lastTake: Promise<unknown> = Promise.resolve();
  let isServing = false;
  let isClosed = false;

  async function takeFor({ taker }: WaitingLane): Promise<Woken> {
    const batch = createBatch(redis);
    batch.add((connection) => connection.blpop(keys.wake, waitSecondsMax));
    const sent = advanceIn(batch, taker, [], materialsPerCycleMax);
    const isSent = redis.status === 'ready';
    const [[popError, popped], [takeError, taken]] = (await batch.send()) as [Answer, Answer];
    // If this is being closed, no lane waits any more for what was taken.
    if (takeError === null ? isClosed : isSent) taker.answerLost(sent.token);
    // The lane then looks by itself, and meets the same fault.
    const held = takeError === null ? readAdvanced(sent, taken) : nothingHeld;
    return { held, isAnnounced: Array.isArray(popped), isRefused: popError !== null };
  }

  /** A lane for each announcement; if there is none for a second, all look by themselves. */
  async function serve(): Promise<void> {
    isServing = true;
    for (let lane = waiting[0]; lane !== undefined; lane = waiting[0]) {
      const take = takeFor(lane);
      lastTake = take;
      const { held, isAnnounced, isRefused } = await take;
      if (isRefused) await sleep(lookMs, undefined, { ref: false });
      waiting.shift()?.goOn(held);
      if (!isAnnounced) break;
    }
    isServing = false;
    letGo();
  }

  function letGo(): void {
    for (const { goOn } of waiting.splice(0)) goOn(nothingHeld);
  }

  return {
    take(taker) {
      if (isClosed) return Promise.resolve(nothingHeld);
      return new Promise((goOn) => {
        waiting.push({ taker, goOn });
        if (!isServing) void serve();
      });
    },
    async close() {
      // If the connection is closed already, ioredis' disconnect() would keep the process alive for another two
      // seconds.
      if (!isClosed) {
        isClosed = true;
        letGo();
        redis.disconnect();
      }
      await lastTake;
    },
  };
}
