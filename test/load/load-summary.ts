import type { LoadResult } from './generator/load-run.js';
import type { StageResult } from './generator/tally.js';
import type { Verdict } from './generator/verdict.js';
import { mergeHistograms, percentileCurve, percentileMs, summaryOf } from './histogram.js';
import type { LatencySummary } from './histogram.js';
import type { Stage } from './stage.js';

/** A stage, or all of them that count, as all generators saw it. */
export interface LoadFigures {
  ms: number;
  answered: number;
  requestsASecond: number;
  rowsASecond: number;
  /** Of full successes, from when they were due. */
  latency: LatencySummary;
  /** Of 429 and 503, from when they were sent. */
  refusals: LatencySummary;
  /** How late requests went out, for want of a free connection or of a generator's time. */
  lagP99Ms: number;
  statuses: Record<string, number>;
}

export interface StageSummary extends Stage, LoadFigures {}

export interface SeriesSummary {
  atMs: number;
  load: number;
  aSecond: Record<Verdict, number>;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  maxMs: number;
}

export interface LoadSummary {
  startedAt: string;
  /** All stages that count. */
  total: LoadFigures;
  stages: StageSummary[];
  series: SeriesSummary[];
  percentiles: { percentile: number; ms: number }[];
  /** Of the whole run, warm-up and drain included. */
  statuses: Record<string, number>;
  sent: number;
  neverSent: number;
  withoutRetryAfter: number;
}

const msASecond = 1_000;

/** One account of what several generators did at the same time. */
export function summariseLoad(results: readonly LoadResult[]): LoadSummary {
  const [first] = results;
  if (first === undefined) throw new Error('no generator told a result');
  // One that had sent its share of --requests came to fewer stages.
  const longest = results.reduce((most, result) => (result.stages.length > most.stages.length ? result : most), first);
  const counted = results.map(({ stages }) => stages.filter(({ isWarmup }) => !isWarmup));
  const sum = (figure: 'sent' | 'neverSent' | 'withoutRetryAfter') =>
    results.reduce((total, result) => total + result[figure], 0);
  return {
    startedAt: new Date(first.startedAtMs).toISOString(),
    total: summariseStages(counted.flat(), Math.max(0, ...counted.map(lengthOf))),
    stages: longest.stages.map((stage, index) => {
      const own = results.flatMap(({ stages }) => stages[index] ?? []);
      const load = (end: 'from' | 'to') => own.reduce((total, stage) => total + stage[end], 0);
      const { isWarmup } = stage;
      return {
        from: load('from'),
        to: load('to'),
        isWarmup,
        ...summariseStages(own, Math.max(...own.map(({ ms }) => ms))),
      };
    }),
    series: seriesOf(results),
    percentiles: percentileCurve(mergeHistograms(counted.flat().map(({ latency }) => latency))),
    statuses: mergeCounts(results.map(({ statuses }) => statuses)),
    sent: sum('sent'),
    neverSent: sum('neverSent'),
    withoutRetryAfter: sum('withoutRetryAfter'),
  };
}

function summariseStages(stages: readonly StageResult[], ms: number): LoadFigures {
  const sum = (figure: 'answered' | 'rows') => stages.reduce((total, stage) => total + stage[figure], 0);
  const merged = (name: 'latency' | 'refusals') => mergeHistograms(stages.map((stage) => stage[name]));
  return {
    ms,
    answered: sum('answered'),
    requestsASecond: ms === 0 ? 0 : (sum('answered') * msASecond) / ms,
    rowsASecond: ms === 0 ? 0 : (sum('rows') * msASecond) / ms,
    latency: summaryOf(merged('latency')),
    refusals: summaryOf(merged('refusals')),
    lagP99Ms: percentileMs(
      mergeHistograms(
        stages.map(({ lag }) => lag),
        2,
      ),
      99,
    ),
    statuses: mergeCounts(stages.map(({ statuses }) => statuses)),
  };
}

function lengthOf(stages: readonly StageResult[]): number {
  return stages.reduce((total, { ms }) => total + ms, 0);
}

/** Merges the slices at the same place of each run: the generators began within milliseconds of each other. */
function seriesOf(results: readonly LoadResult[]): SeriesSummary[] {
  const longest = Math.max(...results.map(({ series }) => series.length));
  return Array.from({ length: longest }, (_, index) => {
    const points = results.flatMap(({ series }) => series[index] ?? []);
    const latency = mergeHistograms(
      points.map((point) => point.latency),
      2,
    );
    const { p50Ms, p90Ms, p99Ms, maxMs } = summaryOf(latency);
    const ms = Math.max(1, points[0]?.ms ?? 1);
    const aSecond = (verdict: Verdict) =>
      (points.reduce((total, { counts }) => total + counts[verdict], 0) * msASecond) / ms;
    return {
      atMs: points[0]?.atMs ?? 0,
      load: points.reduce((total, { load }) => total + load, 0),
      aSecond: {
        ok: aSecond('ok'),
        refused: aSecond('refused'),
        failed: aSecond('failed'),
        unknown: aSecond('unknown'),
      },
      p50Ms,
      p90Ms,
      p99Ms,
      maxMs,
    };
  });
}

function mergeCounts(all: readonly Record<string, number>[]): Record<string, number> {
  const merged: Record<string, number> = {};
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) merged[name] = (merged[name] ?? 0) + count;
  }
  return merged;
}
