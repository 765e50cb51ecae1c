import { inputMaxUnits, toMicros } from '../domain/quantity.js';
import type { OpeningLevel } from '../inventory/opening-stock.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';

/**
 * The opening stock that repeated `--level location=quantity` asks for: each location is one of the shop's and given
 * once, quantities are from 0 to 1e9 (contract §2). The last `=` divides, since a location's id may hold one.
 */
export function parseLevels(texts: readonly string[], locationIds: ReadonlySet<string>): Outcome<OpeningLevel[]> {
  const quantities = new Map<string, number>();
  for (const text of texts) {
    const [, locationId, quantity] = /^(.+)=(\d+\.?\d*|\.\d+)$/s.exec(text) ?? [];
    const shown = JSON.stringify(text);
    if (locationId === undefined || Number(quantity) > inputMaxUnits) {
      return failed(`--level ${shown} must be location=quantity, the quantity from 0 to ${inputMaxUnits}.`);
    }
    if (!locationIds.has(locationId)) return failed(`--level ${shown}: the shop has no location ${locationId}.`);
    if (quantities.has(locationId)) return failed(`--level ${shown}: the location was given before.`);
    quantities.set(locationId, toMicros(Number(quantity)));
  }
  return { ok: true, value: [...quantities].map(([locationId, quantity]) => ({ locationId, quantity })) };
}
