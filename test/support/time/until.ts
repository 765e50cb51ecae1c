import { setTimeout as delay } from 'node:timers/promises';
import { leftOf, startOwnTime } from './own-time.js';

const pollMs = 10;

/**
 * Asks until the answer is neither false nor undefined, and returns it; once the deadline is over (`leftOf`), it asks a
 * last time, since what it waits for may have come while this process stood still, and fails naming what it waited for.
 * What the check throws passes through at once.
 */
export async function until<T>(
  check: () => T | Promise<T>,
  { deadlineMs, what }: { deadlineMs: number; what: string | (() => string) },
): Promise<Exclude<T, false | undefined>> {
  const passedMs = startOwnTime();
  for (;;) {
    const isOver = (await leftOf(deadlineMs, passedMs())) <= 0;
    const answer = await check();
    if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>;
    if (isOver) {
      throw new Error(`Waited ${String(deadlineMs)} ms in vain for ${typeof what === 'string' ? what : what()}`);
    }
    await delay(pollMs);
  }
}
