import assert from 'node:assert/strict';
import { applyTimeoutMsMax } from '../database/apply-bounds.js';

/** An operation is not applied if it meets a worker more than this after, or before, its acceptance (pipeline §2.6). */
export const operationExpiryMs = 10 * 60_000;

/** @param nowMs by the clock that dated the acceptance, which is Redis' */
export function hasExpired({ acceptedAtMs }: { acceptedAtMs: number }, nowMs: number): boolean {
  return Math.abs(nowMs - acceptedAtMs) > operationExpiryMs;
}

/** For how long an `Idempotency-Key` is remembered: 24 hours from its execution (contract §7). */
export const keyMemoryMsDefault = 24 * 3_600_000;

/** For how long operations stay on record: twice as long as anyone can ask for one, by its id or its key. */
export const operationsKeptMs = 48 * 3_600_000;

/**
 * Asserts the order on which the promises rest (pipeline §2 "Limits"): Postgres ends a stuck transaction before its
 * lease runs out; a dead worker's lease runs out while its requests still wait; a request is answered long before its
 * operation expires; and an operation stays on record long after that. The order is that of the defaults. A shorter
 * WAIT_MS answers 503 before a dead worker's lease has run out, and a shorter KEY_MEMORY_MS forgets keys sooner;
 * neither loses or repeats anything.
 */
export function assertTimeLimits({ leaseMs, waitMs }: { leaseMs: number; waitMs: number }): void {
  const inOrder = [applyTimeoutMsMax, leaseMs, waitMs, operationExpiryMs, keyMemoryMsDefault, operationsKeptMs];
  const isAscending = inOrder.every((limit, place) => place === 0 || limit > (inOrder[place - 1] ?? 0));
  assert(isAscending, `the time limits are out of order: ${inOrder.join(', ')}`);
}
