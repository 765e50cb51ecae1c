import { adjustLevel } from '../domain/adjustment.js';
import type { Micros } from '../domain/quantity.js';

export interface OpeningLevel {
  locationId: string;
  quantity: Micros;
}

export interface OpenedStock {
  /** The sum of the levels. */
  total: Micros;
  /** As the rules have them, in the order given. */
  levels: OpeningLevel[];
}

/**
 * Decides the first stock of a new material, by the rules of every other booking: each level is an absolute row on a
 * level of 0. For an import, `materials create` and the demo, which write a material together with its stock. No lock
 * is needed for a material that nobody else can see yet.
 *
 * @param levels each location once
 * @returns the stock, or a sentence about the rule that a row breaks
 */
export function openStock(
  levels: readonly OpeningLevel[],
): { ok: true; stock: OpenedStock } | { ok: false; message: string } {
  const stock: OpenedStock = { total: 0, levels: [] };
  for (const { locationId, quantity } of levels) {
    const row = { locationId, absolute: quantity };
    // A quantity is never below zero, so whether the shop allows that makes no difference.
    const outcome = adjustLevel(row, { level: 0, total: stock.total, allowNegative: false });
    if (!outcome.ok) return outcome;
    stock.total += outcome.applied;
    stock.levels.push({ locationId, quantity: outcome.level });
  }
  return { ok: true, stock };
}
