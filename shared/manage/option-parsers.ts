import { InvalidArgumentError } from 'commander';
import { parseMoment } from '../contract/moment.js';
import { isCleanText } from '../contract/text-rules.js';
import { inputMaxUnits, toMicros } from '../domain/quantity.js';
import type { OpeningLevel } from '../inventory/opening-stock.js';

/**
 * Commander calls it with an option's text. It returns the value, or throws a refusal that commander prints with the
 * option's name (usage error, exit code 64). Bounds are those of the contract and of the tables.
 */
type OptionParser<T> = (text: string) => T;

/** The largest `integer` of Postgres. */
const integerMax = 2_147_483_647;

export function wholeNumber(minimum: number, maximum = integerMax): OptionParser<number> {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`Must be a whole number from ${minimum} to ${maximum}.`);
  };
}

/** A decimal as people write it; whether it fits the field is for the contract's schema to say. */
export function decimal(text: string): number {
  if (/^-?(\d+(\.\d*)?|\.\d+)$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Must be a decimal number, as 12.5.');
}

export function trueOrFalse(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('Must be true or false.');
}

const shortTextMax = 255;

/** A name, label or id that can be stored. Characters are counted as Postgres counts them; blanks alone are refused. */
export function shortText(text: string): string {
  const { length } = Array.from(text);
  if (text.trim() !== '' && length <= shortTextMax && isCleanText(text)) return text;
  throw new InvalidArgumentError(`Must have 1 to ${shortTextMax} characters, and not only blanks.`);
}

/** Text of any length, an empty one too: what the contract lets a text of a query be. */
export function queryText(text: string): string {
  if (isCleanText(text)) return text;
  throw new InvalidArgumentError('Must hold neither U+0000 nor half of a surrogate pair.');
}

/** A day (its first moment in UTC) or a moment with its offset, in ISO 8601. The day must exist in its month. */
function moment(text: string): Date {
  const named = parseMoment(text);
  if (named !== undefined) return new Date(named.firstMs);
  throw new InvalidArgumentError('Must be a day, as 2027-01-31, or a moment, as 2027-01-31T12:00:00Z.');
}

/** A `moment` that is still to come. */
export function futureMoment(text: string): Date {
  const value = moment(text);
  if (value.getTime() > Date.now()) return value;
  throw new InvalidArgumentError('Lies in the past.');
}

/** A length of time, as 90m, 24h or 7d, in milliseconds. */
export function duration(daysMax: number): OptionParser<number> {
  return (text) => {
    const [, count, unit] = /^(\d{1,9})([mhd])$/.exec(text) ?? [];
    const value = unit === undefined ? NaN : Number(count) * unitsMs[unit as keyof typeof unitsMs];
    if (value <= daysMax * unitsMs.d) return value;
    throw new InvalidArgumentError(`Must be a length of time up to ${daysMax}d, as 90m, 24h or 7d.`);
  };
}

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Collects a repeated option. */
export function collect(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text];
}

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
