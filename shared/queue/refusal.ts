import type { Redis } from 'ioredis';
import { keys } from './names.js';

/**
 * Longer than from one cycle that is refused until the next: while there is work, one follows the other. What would last
 * longer was told before the clock of Redis went back, and counts for nothing: nothing else would take it back.
 */
export const refusalLastsMs = 2_000;
const reasonMax = 300;

/**
 * Tells the APIs that Postgres refuses what workers write, and why. They cannot know by themselves: a Postgres whose
 * disk is full answers every question as if it were well.
 */
export async function tellRefusal(redis: Redis, reason: string): Promise<void> {
  await redis.set(keys.refusal, reason.slice(0, reasonMax), 'PX', refusalLastsMs);
}
