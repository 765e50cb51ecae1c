import { InvalidArgumentError } from 'commander';
import { inputMaxUnits, toMicros } from '../domain/quantity.js';
import type { OpeningLevel } from '../inventory/opening-stock.js';

/**
 * Collects the opening stock that repeated `--level location=quantity` asks for: each location is given once,
 * quantities are from 0 to 1e9 (contract §2). The last `=` divides, since a location's id may hold one.
 */
export function collectLevel(text: string, before: readonly OpeningLevel[] = []): OpeningLevel[] {
  const [, locationId, quantity] = /^(.+)=(\d+\.?\d*|\.\d+)$/s.exec(text) ?? [];
  if (locationId === undefined || Number(quantity) > inputMaxUnits) {
    throw new InvalidArgumentError(`Must be location=quantity, the quantity from 0 to ${inputMaxUnits}.`);
  }
  if (before.some((level) => level.locationId === locationId)) {
    throw new InvalidArgumentError('The location was given before.');
  }
  return [...before, { locationId, quantity: toMicros(Number(quantity)) }];
}
