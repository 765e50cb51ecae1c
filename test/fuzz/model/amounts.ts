/**
 * Whole numbers of millionths, without a bound: the model's own arithmetic, which shares nothing with the service's.
 */
export type Amount = bigint;

const decimal = /^(-?)(\d+)(?:\.(\d+))?$/;

/** What a decimal text is worth, rounded half away from zero to six places (contract §2). */
export function amountOf(text: string): Amount {
  const [, sign, whole = '', fraction = ''] = decimal.exec(text) ?? [];
  if (whole === '') throw new RangeError(`not a decimal: ${text}`);
  const kept = BigInt(whole + fraction.slice(0, 6).padEnd(6, '0'));
  const rounded = fraction.charAt(6) >= '5' ? kept + 1n : kept;
  return sign === '-' ? -rounded : rounded;
}

/** The JSON number that a client sees. */
export function shownNumber(amount: Amount): number {
  return Number(textOf(amount));
}

/** The shortest text of an amount. */
export function textOf(amount: Amount): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(7, '0');
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '');
  return amount < 0n ? `-${text}` : text;
}
