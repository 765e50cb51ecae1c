import type { LatencySummary } from './histogram.js';
import type { LoadSummary } from './load-summary.js';

/** What a run must keep to, as it is typed: `p99<50`, `rate>=1000`, `errors<=0`. */
export interface Threshold {
  text: string;
  figure: string;
  sense: '<' | '<=' | '>' | '>=';
  bound: number;
}

export interface JudgedThreshold extends Threshold {
  /** Absent where there was nothing to measure; then it is missed. */
  seen?: number;
  isMet: boolean;
}

/** Undefined where there was nothing to measure. */
type Figure = (summary: LoadSummary) => number | undefined;

/** Under an overload it may be that nothing due in the time that counts was sent: no latency is not a small one. */
const latency =
  (read: (latency: LatencySummary) => number, of: 'latency' | 'refusals' = 'latency'): Figure =>
  ({ total }) =>
    total[of].count === 0 ? undefined : read(total[of]);

/** What can be asked for; latencies in milliseconds, of full successes. */
const figures: Readonly<Record<string, { what: string; read: Figure }>> = {
  p50: { what: 'latency, ms', read: latency(({ p50Ms }) => p50Ms) },
  p90: { what: 'latency, ms', read: latency(({ p90Ms }) => p90Ms) },
  p99: { what: 'latency, ms', read: latency(({ p99Ms }) => p99Ms) },
  'p99.9': { what: 'latency, ms', read: latency(({ p999Ms }) => p999Ms) },
  max: { what: 'latency, ms', read: latency(({ maxMs }) => maxMs) },
  mean: { what: 'latency, ms', read: latency(({ meanMs }) => meanMs) },
  rate: { what: 'full successes a second', read: ({ total }) => total.requestsASecond },
  rows: { what: 'booked rows a second', read: ({ total }) => total.rowsASecond },
  errors: { what: 'requests of the whole run that were no full success', read: errorsOf },
  errorRate: {
    what: 'their part of all, 0 to 1',
    read: (summary) => errorsOf(summary) / Math.max(1, summary.sent),
  },
  neverSent: { what: 'due, and never sent for want of a connection', read: ({ neverSent }) => neverSent },
  refusedP99: { what: 'latency of 429 and 503, ms', read: latency(({ p99Ms }) => p99Ms, 'refusals') },
};

const form = /^\s*([\w.]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*$/;

export const thresholdFigures = Object.entries(figures).map(([name, { what }]) => `${name} (${what})`);

/** @throws with a sentence for the person who typed it */
export function readThreshold(text: string): Threshold {
  const [, figure = '', sense = '', bound = ''] = form.exec(text) ?? [];
  if (sense === '') throw new Error(`--must takes a figure, one of < <= > >=, and a number, as 'p99<50', not ${text}.`);
  // Any status can be counted: `status503<=0`. One that cannot occur is refused, or a typo would pass for a gate.
  if (!Object.hasOwn(figures, figure) && !/^status[1-5]\d\d$/.test(figure)) {
    throw new Error(`--must: ${figure} is none of ${Object.keys(figures).join(', ')}, status503 and the like.`);
  }
  return { text: text.trim(), figure, sense: sense as Threshold['sense'], bound: Number(bound) };
}

export function judgeThreshold(threshold: Threshold, summary: LoadSummary): JudgedThreshold {
  const { figure, sense, bound } = threshold;
  const known = figures[figure];
  const seen = known ? known.read(summary) : (summary.statuses[figure.slice('status'.length)] ?? 0);
  return seen === undefined ? { ...threshold, isMet: false } : { ...threshold, seen, isMet: holds(seen, sense, bound) };
}

function holds(seen: number, sense: Threshold['sense'], bound: number): boolean {
  switch (sense) {
    case '<':
      return seen < bound;
    case '<=':
      return seen <= bound;
    case '>':
      return seen > bound;
    case '>=':
      return seen >= bound;
  }
}

function errorsOf({ statuses }: LoadSummary): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => (status === '200' ? sum : sum + count), 0);
}
