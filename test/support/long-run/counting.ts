import { appendFileSync } from 'node:fs';
import { isLongRun, report } from './long-run.js';
import type { Tally } from './long-run.js';

/** One thing that a test makes many times: so many faults, so many rounds, as `npm test` or a long run wants them. */
export interface Count {
  made(): number;
  /** How many are still to be made; 0 as well when the time of `--minutes` is over. */
  left(): number;
  /** So many more were made. */
  add(more?: number): void;
  /** All that were made so far were held against what must hold, and nothing was wrong. */
  judged(): void;
}

/** A figure for the closing table of a long run. */
export interface Figure {
  /** With its unit: `recovery p99 (ms)`. */
  name: string;
  value: number | string;
  /** Binds in a long run alone, where the machine is the test's own (reliability §2). */
  most?: number;
}

/** A line of progress, in the file where the tallies go; the runner tells it from those by `made`. */
export interface Progress {
  test: string;
  unit: string;
  made: number;
  judged: number;
  of: number;
}

export interface Counted {
  /** `T3`, as in reliability §2. */
  test: string;
  /** In the plural: `kills`. */
  unit: string;
  /** How many to make: `sizeOf({ small, long })`. */
  size: number;
}

const progressEveryMs = 1_000;
const msAMinute = 60_000;

/**
 * Runs a body that counts up to a size, tells `npm run test:long` how far it is, and adds its line to the closing
 * table. The first thing that is wrong ends it: it throws, and the line says so.
 */
export async function counting(
  { test, unit, size }: Counted,
  body: (count: Count) => Promise<Figure[]>,
): Promise<void> {
  const minutes = Number(process.env.TEST_MINUTES ?? '') || Infinity;
  const endMs = performance.now() + minutes * msAMinute;
  let made = 0;
  let judged = 0;
  let writtenMs = -Infinity;
  const write = () => {
    writtenMs = performance.now();
    writeProgress({ test, unit, made, judged, of: size });
  };
  const count: Count = {
    made: () => made,
    left: () => (performance.now() > endMs ? 0 : size - made),
    add: (more = 1) => {
      made += more;
      if (performance.now() - writtenMs > progressEveryMs) write();
    },
    judged: () => {
      judged = made;
      write();
    },
  };
  // In a long run the first line says that this test shows its progress, so that a silence means that it hangs.
  write();
  let figures: Figure[];
  try {
    figures = await body(count);
  } catch (error) {
    report({ test, unit, count: made, failures: 1 });
    throw error;
  }
  const missed = figures.flatMap(missedBound);
  report({ test, unit, count: made, failures: 0, figures: table(figures) });
  if (isLongRun && missed.length > 0) throw new Error(missed.join('\n'));
}

function missedBound({ name, value, most }: Figure): string[] {
  // Written this way round, a value that is no number misses its bound.
  if (most === undefined || Number(value) <= most) return [];
  return [`${name} is ${String(value)}, and may be ${String(most)} at most`];
}

function table(figures: Figure[]): NonNullable<Tally['figures']> {
  return Object.fromEntries(
    figures.map(({ name, value, most }) => [name, most === undefined ? value : `${String(value)} of ${String(most)}`]),
  );
}

function writeProgress(progress: Progress): void {
  const file = process.env.TEST_TALLY;
  if (file !== undefined && file !== '') appendFileSync(file, `${JSON.stringify(progress)}\n`);
}
