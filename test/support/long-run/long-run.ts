import { appendFileSync } from 'node:fs';

/** What a test counted in a long run; `npm run test:long` makes its closing table of these. */
export interface Tally {
  /** `T3`, as in reliability §2. */
  test: string;
  /** What was counted, in the plural: `kills`. */
  unit: string;
  count: number;
  failures: number;
  /** Further figures by their name, the unit in it: `{ 'recovery p99 (ms)': 812 }`. */
  figures?: Record<string, number | string>;
}

/** Whether this is `npm run test:long`, where seconds, percentages and factors bind as well. */
export const isLongRun = process.env.TEST_LONG === '1';

/** How much of a test to run: `TEST_SIZE` where it is set, else the large size in a long run, else the small one. */
export function sizeOf({ small, long }: { small: number; long: number }): number {
  const asked = process.env.TEST_SIZE;
  if (isLongRun && asked !== undefined && asked !== '') return Number(asked);
  return isLongRun ? long : small;
}

/** Adds a line to the closing table of a long run; `npm test` has none. */
export function report(tally: Tally): void {
  const file = process.env.TEST_TALLY;
  if (file !== undefined && file !== '') appendFileSync(file, `${JSON.stringify(tally)}\n`);
}
