import assert from 'node:assert/strict';
import type { Redis } from 'ioredis';
import { addScript, runScript } from './run-script.js';
import type { CommandBatch } from './run-script.js';
import type { WorkerPresence } from './worker-presence.js';
import { aheadMsMax } from './scripts.js';
import { startStopwatch } from '../runtime/stopwatch.js';

/** A material that a lane holds, with the token of the take that gave it, and its jobs in their order. */
export interface HeldMaterial {
  queue: string;
  token: string;
  jobs: FetchedJob[];
}

export interface FetchedJob {
  id: string;
  data: string;
  /** How often the job was handed out, this time included, without the times that it was given back `uncounted`. */
  deliveries: number;
}

export interface Held {
  /**
   * Redis' clock now, or later, in milliseconds: what has expired by it is not applied. It is not behind either where
   * the process or its machine stood still: the time since the take counts from when that was sent, because its answer
   * may have waited in the socket.
   */
  nowMs: () => number;
  materials: HeldMaterial[];
}

export const nothingHeld: Held = { nowMs: () => 0, materials: [] };

/** What names a lease. */
type Lease = Pick<HeldMaterial, 'queue' | 'token'>;

/** What a lane has done with a material that it holds. */
export interface WorkedMaterial extends Lease {
  /** Ids of the jobs that are not to be handed out again. */
  finished: string[];
}

/** How long a worker holds a material without a sign of life (pipeline §2 "Limits"). Renewed at a third. */
export const leaseMs = 4_000;
// The sweep would take a longer lease for one that was set before the clock went back, and free it.
assert(leaseMs < aheadMsMax, 'a lease lies further ahead than any deadline may');

/** Jobs handed out of one material at once; the rest waits for the next cycle. */
const jobsPerMaterialMax = 64;
/** Once an answer has so many bytes, no further job is handed out. Redis holds them twice while it answers. */
const bytesMax = 8 * 1_024 * 1_024;

/** Whoever takes. Every take has a token of its own, under which it is freed if its answer does not come. */
export type Taker = Pick<WorkerPresence, 'newToken' | 'answerLost'>;

/**
 * Takes up to `max` ready materials with their jobs, if there are any.
 *
 * @throws errors of Redis; the taker was told of the lost answer
 */
export async function takeMaterials(redis: Redis, taker: Taker, max: number): Promise<Held> {
  const token = taker.newToken();
  const sinceSentMs = startStopwatch();
  const answer = await runScript(redis, 'rmAdvance', max, token, leaseMs, jobsPerMaterialMax, bytesMax).catch(
    (error: unknown) => {
      taker.answerLost(token);
      throw error;
    },
  );
  return readAdvanced({ token, sinceSentMs, worked: [] }, answer);
}

/** A take whose answer is awaited. */
export interface SentTake {
  token: string;
  sinceSentMs: () => number;
  /** What the lane held before; what it keeps of it stays under its own tokens. */
  worked: WorkedMaterial[];
}

/**
 * Adds to a batch the step from one cycle to the next: finish what was done, release idle materials, keep busy ones or
 * put them back in line, and take more until the lane holds `max`. `readAdvanced` reads its answer; if there is none,
 * tell the taker (`answerLost`). The time counts from this call, so send the batch at once.
 */
export function advanceIn(batch: CommandBatch, taker: Taker, worked: WorkedMaterial[], max: number): SentTake {
  const token = taker.newToken();
  // First those that got no jobs last time, because there was no room for them in the answer.
  const ordered = worked.toSorted((one, other) => one.finished.length - other.finished.length);
  const steps = ordered.flatMap(({ queue, token: own, finished }) => [queue, own, finished.length, ...finished]);
  // A lane that ends (`max` is 0) also fetches no further jobs of what it holds, because a fetch counts as a delivery.
  addScript(batch, 'rmAdvance', max, token, leaseMs, max > 0 ? jobsPerMaterialMax : 0, bytesMax, ...steps);
  return { token, sinceSentMs: startStopwatch(), worked };
}

/** @returns what is held now, and how many leases were lost, whose materials another lane may have by now */
export function readAdvanced({ token, sinceSentMs, worked }: SentTake, answer: unknown): Held & { lost: number } {
  const [atMs, lost, keptCount, ...found] = answer as [number, number, number, ...[string, ...(string | number)[]][]];
  const tokens = new Map(worked.map(({ queue, token: own }) => [queue, own]));
  const materials = found.map(([queue, ...fields], index): HeldMaterial => {
    const jobs: FetchedJob[] = [];
    for (let i = 0; i < fields.length; i += 3) {
      const [id, data, deliveries] = fields.slice(i, i + 3) as [string, string, number];
      jobs.push({ id, data, deliveries });
    }
    return { queue, token: index < keptCount ? (tokens.get(queue) ?? token) : token, jobs };
  });
  return { nowMs: () => atMs + sinceSentMs(), materials, lost };
}

/** Makes leases last for `leaseMs` from now. Lost ones are skipped in silence: `readAdvanced` tells of them. */
export async function renewLeases(redis: Redis, held: Lease[]): Promise<void> {
  await runScript(redis, 'rmRenew', leaseMs, ...pairs(held));
}

/**
 * Gives materials back with their jobs in order. They are ready at once, or, with a delay, at the first sweep after it.
 *
 * @param delivery `uncounted` if this is not to count as a delivery: the materials were left out, or what stopped them
 *   says nothing of their jobs (a full disk, a lane that ends)
 */
export async function giveBack(
  redis: Redis,
  held: Lease[],
  delayMs: number,
  delivery: 'counted' | 'uncounted',
): Promise<void> {
  if (held.length > 0) await runScript(redis, 'rmGiveBack', delayMs, delivery, ...pairs(held));
}

/** As `giveBack` with `uncounted`, in a batch. */
export function giveBackUncountedIn(batch: CommandBatch, held: Lease[], delayMs: number): void {
  if (held.length > 0) addScript(batch, 'rmGiveBack', delayMs, 'uncounted', ...pairs(held));
}

/** Adds to a batch that these jobs are removed, of materials that are then given back. */
export function dropJobsIn(batch: CommandBatch, jobs: (Lease & { id: string })[]): void {
  if (jobs.length > 0) addScript(batch, 'rmDrop', ...jobs.flatMap(({ queue, token, id }) => [queue, token, id]));
}

function pairs(held: Lease[]): string[] {
  return held.flatMap(({ queue, token }) => [queue, token]);
}
