/**
 * Quantities and money are exact decimals with six places (contract §2, "Editable fields"). Inside the service they
 * are whole numbers of millionths: every value up to 8e9 units is then a safe integer, so sums and differences are
 * exact without a decimal library. At 9e9 units neighbours would collide in a double.
 */
export type Micros = number;

const microsPerUnit = 1_000_000;
const decimalPlaces = 6;

/** The largest quantity or price a request may carry, in units, either sign (contract §2). */
export const inputMaxUnits = 1_000_000_000;

/** The bound of a level and of a material's total, either sign (contract §2). */
export const levelMaxUnits = 8_000_000_000;
export const levelMaxMicros: Micros = levelMaxUnits * microsPerUnit;

const shortestForm = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * Rounds a JSON number to millionths, half away from zero, from the shortest decimal form of the double, so that
 * `0.1 + 0.2` is 300000 and `1.0000005` is 1000001. Negative zero is zero (contract §2).
 *
 * @param value finite, at most 8e9 units either sign; anything else is a programmer's error and throws
 */
export function toMicros(value: number): Micros {
  if (Number.isInteger(value)) return assertSafe(value * microsPerUnit, value) + 0;
  const match = shortestForm.exec(String(value));
  if (match === null) throw new RangeError(`not a quantity: ${String(value)}`);
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const kept = whole.length + Number(exponent) + decimalPlaces;
  const truncated = Number(digits.slice(0, Math.max(kept, 0)).padEnd(kept, '0'));
  // If `kept` is negative there is no digit there, which rounds down.
  const roundsUp = digits.charAt(kept) >= '5';
  const micros = truncated + (roundsUp ? 1 : 0);
  return assertSafe(sign === '-' && micros !== 0 ? -micros : micros, value);
}

/** The JSON number of a quantity in millionths; exact in its shortest form up to 8e9 units. */
export function toUnits(micros: Micros): number {
  return micros / microsPerUnit;
}

/** The decimal text that Postgres takes as `numeric`: `-1500000` is `-1.500000`. */
export function toDecimal(micros: Micros): string {
  const digits = String(Math.abs(micros)).padStart(decimalPlaces + 1, '0');
  const point = digits.length - decimalPlaces;
  return `${micros < 0 ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Reads a `numeric(16,6)` as Postgres writes it, which is always with six places. */
export function fromDecimal(decimal: string): Micros {
  const point = decimal.length - decimalPlaces - 1;
  if (decimal.charAt(point) !== '.') throw new RangeError(`not a decimal with six places: ${decimal}`);
  return assertSafe(Number(decimal.slice(0, point) + decimal.slice(point + 1)), decimal) + 0;
}

function assertSafe(micros: number, source: number | string): Micros {
  if (!Number.isSafeInteger(micros)) throw new RangeError(`quantity out of range: ${String(source)}`);
  return micros;
}
