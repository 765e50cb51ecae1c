/**
 * The time that a text of a query names, from its first to its last millisecond since the epoch. A time between two
 * milliseconds contains none of them: `firstMs` is then the later one, and `lastMs` the earlier.
 */
export interface Moment {
  firstMs: number;
  lastMs: number;
}

/**
 * What an ISO 8601 text names: a date names its whole day in UTC, a time with its offset one millisecond. A time
 * without an offset is refused, since it would mean another moment on every machine. Undefined for anything else.
 */
export function parseMoment(text: string): Moment | undefined {
  const isDay = date.test(text);
  if (!isDay && !dateTime.test(text)) return undefined;
  // Cut to milliseconds.
  const atMs = Date.parse(text);
  // For a day that its month does not have, Date.parse gives NaN or a day of the next month.
  if (Number.isNaN(atMs) || !isDayOfItsMonth(text)) return undefined;
  if (isDay) return { firstMs: atMs, lastMs: atMs + dayMs - 1 };
  return { firstMs: betweenMs.test(text) ? atMs + 1 : atMs, lastMs: atMs };
}

const dayMs = 86_400_000;
const date = /^\d{4}-\d\d-\d\d$/;
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
/** A fraction that is finer than a millisecond. */
const betweenMs = /\.\d{3}0*[1-9]/;

function isDayOfItsMonth(text: string): boolean {
  const day = text.slice(0, 10);
  const noonMs = Date.parse(`${day}T12:00:00Z`);
  return !Number.isNaN(noonMs) && new Date(noonMs).toISOString().startsWith(day);
}
