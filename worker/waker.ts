import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { keys } from '../shared/queue/names.js';

/** Lets the idle lanes of a process wait for work on one blocking connection. */
export interface Waker {
  /** Resolves when there may be work: at an announcement, after a second at the latest, at once when closed. */
  wait(): Promise<void>;
  /** Wakes every lane, and from now on lets none wait. Calling it again does nothing. */
  close(): void;
}

const waitSecondsMax = 1;

/** How often lanes look for work while the connection that would wake them is away. */
const lookMs = 100;

/**
 * The blocking pop only wakes; the take itself is a script, so a wake-up that is lost with its worker loses no
 * material: the next announcement, or the sweep, brings another (pipeline §2.4).
 */
export function createWaker(redis: Redis): Waker {
  const waiting: (() => void)[] = [];
  let isPopping = false;
  let isClosed = false;

  async function pop(): Promise<void> {
    isPopping = true;
    while (waiting.length > 0) {
      const popped = await redis.blpop(keys.wake, waitSecondsMax).catch(() => undefined);
      if (popped === undefined) {
        await sleep(lookMs, undefined, { ref: false });
        break;
      }
      if (popped !== null) waiting.shift()?.();
      else break;
    }
    isPopping = false;
    for (const wake of waiting.splice(0)) wake();
  }

  return {
    wait() {
      if (isClosed) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (!isPopping) void pop();
      });
    },
    close() {
      // If the connection is closed already, ioredis' disconnect() would keep the process alive for another two
      // seconds.
      if (isClosed) return;
      isClosed = true;
      for (const wake of waiting.splice(0)) wake();
      redis.disconnect();
    },
  };
}
