import { randomUUID } from 'node:crypto';
import type { ChainableCommander, Redis } from 'ioredis';
import { addScript, runScript } from './run-script.js';

/** A material that a lane holds, by the take that gave it; the token is also the lock of the jobs fetched under it. */
export interface HeldMaterial {
  queue: string;
  token: string;
  /** Jobs to fetch: what stood in wait when Redis was last asked. */
  waiting: number;
  /** Jobs in active, which an earlier owner, or a finish that failed, left behind. */
  leftBehind: number;
}

export interface Held {
  /** Milliseconds of Redis' clock at the take; what tells whether an operation has expired. */
  nowMs: number;
  /** The moment of it in the monotonic clock of this process, which also tells how long the process stood still. */
  readAtMs: number;
  materials: HeldMaterial[];
}

/** How long a worker holds a material without a sign of life (pipeline §2 "Limits"). Renewed at a third. */
export const leaseMs = 4_000;

/** Takes up to `max` ready materials, if there are any. */
export async function takeMaterials(redis: Redis, max: number): Promise<Held> {
  const token = randomUUID();
  return readTaken(token, await runScript(redis, 'rmTake', max, token, leaseMs));
}

/** Queues a take on a pipeline; `readTaken` understands its answer. */
export function takeMaterialsOn(pipeline: ChainableCommander, max: number): string {
  const token = randomUUID();
  addScript(pipeline, 'rmTake', max, token, leaseMs);
  return token;
}

export function readTaken(token: string, answer: unknown): Held {
  const [nowMs, ...fields] = answer as [number, ...(string | number)[]];
  const materials: HeldMaterial[] = [];
  for (let i = 0; i < fields.length; i += 3) {
    const [queue, waiting, leftBehind] = fields.slice(i, i + 3) as [string, number, number];
    materials.push({ queue, token, waiting, leftBehind });
  }
  return { nowMs, readAtMs: performance.now(), materials };
}

/** Queues on a pipeline the step that lets idle materials go and keeps the rest; `readKept` understands its answer. */
export function releaseIdleOn(pipeline: ChainableCommander, held: HeldMaterial[]): void {
  addScript(pipeline, 'rmRelease', leaseMs, ...pairs(held));
}

export function readKept(held: HeldMaterial[], answer: unknown): Held & { lost: number } {
  const [nowMs = 0, ...counts] = answer as number[];
  const materials: HeldMaterial[] = [];
  let lost = 0;
  held.forEach((material, index) => {
    const [waiting = notOwned, leftBehind = notOwned] = counts.slice(2 * index, 2 * index + 2);
    if (waiting === notOwned) lost += 1;
    else if (waiting >= 0) materials.push({ ...material, waiting, leftBehind });
  });
  return { nowMs, readAtMs: performance.now(), materials, lost };
}

const notOwned = -2;

/** Puts jobs that were left in active back to the head of wait, in their order, and counts anew. Drops what is not owned. */
export async function recoverJobs(redis: Redis, held: HeldMaterial[]): Promise<HeldMaterial[]> {
  const waiting = (await runScript(redis, 'rmRecover', ...pairs(held))) as number[];
  return held.flatMap((material, index): HeldMaterial[] => {
    const count = waiting[index] ?? -1;
    return count < 0 ? [] : [{ ...material, waiting: count, leftBehind: 0 }];
  });
}

export async function renewLeases(redis: Redis, held: HeldMaterial[]): Promise<void> {
  await runScript(redis, 'rmRenew', leaseMs, ...pairs(held));
}

/** Gives materials back, their jobs in order; with a delay the sweep of some worker makes them ready. */
export async function giveBack(redis: Redis, held: HeldMaterial[], delayMs: number): Promise<void> {
  if (held.length > 0) await runScript(redis, 'rmGiveBack', delayMs, 'counted', ...pairs(held));
}

/** Likewise, queued on a pipeline, of materials for which nothing could be tried: their jobs' deliveries are not counted. */
export function giveBackUntriedOn(pipeline: ChainableCommander, held: HeldMaterial[], delayMs: number): void {
  if (held.length > 0) addScript(pipeline, 'rmGiveBack', delayMs, 'uncounted', ...pairs(held));
}

function pairs(held: HeldMaterial[]): string[] {
  return held.flatMap(({ queue, token }) => [queue, token]);
}
