import assert from 'node:assert/strict';
import { applyTimeoutMsMax } from '../database/apply-settings.js';

/** An operation is not applied if it meets a worker more than this after, or before, its acceptance (pipeline §2.6). */
export const operationExpiryMs = 10 * 60_000;

/** For how long an `Idempotency-Key` is remembered: 24 hours from its execution (contract §7). */
export const keyMemoryMsDefault = 24 * 3_600_000;

/** For how long operations stay on record: twice as long as anyone can ask for one, by its id or by its key. */
export const operationsKeptMs = 48 * 3_600_000;

/**
 * The order of the defaults, on which the promises rest (pipeline §2 "Limits"): Postgres lets go of a stuck transaction
 * before its lease runs out; a dead worker's lease runs out while its requests still wait; a request has its answer
 * long before its operation expires; and an operation is on record long after that. A shorter WAIT_MS answers 503
 * before a dead worker's lease has run out, and a shorter KEY_MEMORY_MS forgets a key sooner: neither loses or repeats
 * anything by itself.
 */
export function assertTimeLimits({ leaseMs, waitMs }: { leaseMs: number; waitMs: number }): void {
  const inOrder = [applyTimeoutMsMax, leaseMs, waitMs, operationExpiryMs, keyMemoryMsDefault, operationsKeptMs];
  const isAscending = inOrder.every((limit, place) => place === 0 || limit > (inOrder[place - 1] ?? 0));
  assert(isAscending, `the time limits are out of order: ${inOrder.join(', ')}`);
}
