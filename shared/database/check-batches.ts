import type { Database } from './connect.js';
import type { Mismatch } from './ledger-mismatch.js';
import { readWithoutTimeout } from './lift-timeouts.js';
import { opaqueShopId } from './opaque-shop-id.js';

// What the checks of everything (`checkLedger`, `checkLists`) share: they walk a table in batches, by a key that the
// shop leads, and keep what they found.

export const materialsPerBatch = 5_000;

/** Below every shop; shops are numbered from 1. */
const beforeAllShops = 0;

/** What a walk has besides the shop. */
interface Walk<Row> {
  /** The rest of the key, as bindings: of a row, and below that of every row. */
  keyOf: (row: Row) => Record<string, string>;
  first: Record<string, string>;
  /** Rows of a batch. */
  limit: number;
}

/**
 * The rows of one shop, or, without `only`, of all, in batches of one statement each.
 *
 * @param sql with the condition of `isAfter`, in the order of its key, and with `:limit`
 */
export async function* batchesOf<Row extends { shop_id: number }>(
  database: Database,
  only: number | undefined,
  sql: string,
  { keyOf, first, limit }: Walk<Row>,
): AsyncGenerator<Row[]> {
  let after = { shopId: only ?? beforeAllShops, ...first };
  for (;;) {
    const rows = await readWithoutTimeout<Row>(database, sql, { ...after, limit });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    after = { shopId: last.shop_id, ...keyOf(last) };
  }
}

/**
 * The rows after the last one of the batch before, in the order of a key that the shop leads, as a condition on
 * `:shopId` and on the bindings of `after`. Of one shop it names the shop, so that the planner knows how much it has.
 * Of all shops it hides where the batch begins: near the end the planner would expect few rows, and sort all of them.
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
