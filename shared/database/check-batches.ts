import type { Mismatch } from './ledger-mismatch.js';
import { opaqueShopId } from './opaque-shop-id.js';

// What the checks of everything (`checkLedger`, `checkLists`) share: they walk a table in batches, by a key that the shop
// leads, and keep what they found.

export const materialsPerBatch = 5_000;

/** Below every shop; shops are numbered from 1. */
export const beforeAllShops = 0;

/**
 * The rows after the last one of the batch before, in the order of a key that the shop leads, as a condition on
 * `:shopId` and on the bindings of `after`. Of one shop it names the shop, so that the planner knows how much it has. Of
 * all shops it hides where the batch begins: near the end the planner would expect few rows, and sort all of them.
 */
export function isAfter(only: number | undefined, shop: string, columns: string, after: string): string {
  return only === undefined
    ? `(${shop}, ${columns}) > (${opaqueShopId}, ${after})`
    : `${shop} = :shopId AND (${columns}) > (${after})`;
}

/** More are counted, and not kept. */
const mismatchesMax = 1_000;

export function addMismatches<Kind extends string>(
  check: { mismatchCount: number; mismatches: Mismatch<Kind>[] },
  found: Mismatch<Kind>[],
): void {
  check.mismatchCount += found.length;
  check.mismatches.push(...found.slice(0, mismatchesMax - check.mismatches.length));
}
