import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import type { Histogram } from 'hdr-histogram-js';

export type { Histogram };

const microsAMs = 1_000;
const latencyMicrosMax = 600_000_000;

/** An HdrHistogram of milliseconds, kept in whole microseconds to so many figures. */
export function createHistogram(figures: 2 | 3 = 3): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: latencyMicrosMax,
    numberOfSignificantValueDigits: figures,
    autoResize: false,
  });
}

export function recordMs(histogram: Histogram, ms: number): void {
  histogram.recordValue(Math.min(latencyMicrosMax, Math.max(1, Math.round(ms * microsAMs))));
}

/** As it goes from a generator to whoever reports. */
export function encodeHistogram(histogram: Histogram): string {
  return histogram.totalCount === 0 ? '' : encodeIntoCompressedBase64(histogram);
}

/** Of several, as one. */
export function mergeHistograms(encoded: readonly string[], figures: 2 | 3 = 3): Histogram {
  const merged = createHistogram(figures);
  for (const text of encoded) if (text !== '') merged.add(decodeFromCompressedBase64(text));
  return merged;
}

/** Latencies in milliseconds; all 0 where there are none. */
export interface LatencySummary {
  count: number;
  meanMs: number;
  maxMs: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
}

export function summaryOf(histogram: Histogram): LatencySummary {
  const isEmpty = histogram.totalCount === 0;
  const at = (percentile: number) => percentileMs(histogram, percentile);
  return {
    count: histogram.totalCount,
    meanMs: isEmpty ? 0 : histogram.mean / microsAMs,
    maxMs: isEmpty ? 0 : histogram.maxValue / microsAMs,
    p50Ms: at(50),
    p90Ms: at(90),
    p99Ms: at(99),
    p999Ms: at(99.9),
  };
}

export function percentileMs(histogram: Histogram, percentile: number): number {
  return histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(percentile) / microsAMs;
}

/** Points of the percentile curve, from 0 to the last request, ever closer together towards the end. */
export function percentileCurve(histogram: Histogram): { percentile: number; ms: number }[] {
  if (histogram.totalCount === 0) return [];
  const percentiles = [0, 10, 25, 50, 75, 90, 95, 97.5];
  for (let left = 1; left > 50 / histogram.totalCount; left /= 10) {
    percentiles.push(100 - left, 100 - left / 2, 100 - left / 4);
  }
  return [...percentiles, 100].map((percentile) => ({ percentile, ms: percentileMs(histogram, percentile) }));
}
