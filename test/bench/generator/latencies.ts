import { createHistogram } from 'node:perf_hooks';

/** Latencies of a round, in milliseconds. */
export interface LatencySummary {
  count: number;
  meanMs: number;
  maxMs: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
}

export interface Latencies {
  record(ms: number): void;
  summary(): LatencySummary;
}

const microsAMs = 1_000;
const latencyMicrosMax = 120_000_000;

/** Node's own HDR histogram, in microseconds, to three figures. */
export function createLatencies(): Latencies {
  const histogram = createHistogram({ lowest: 1, highest: latencyMicrosMax, figures: 3 });
  const at = (percentile: number) => (histogram.count === 0 ? 0 : histogram.percentile(percentile) / microsAMs);
  return {
    record: (ms) => {
      histogram.record(Math.min(latencyMicrosMax, Math.max(1, Math.round(ms * microsAMs))));
    },
    summary: () => ({
      count: histogram.count,
      meanMs: histogram.count === 0 ? 0 : histogram.mean / microsAMs,
      maxMs: histogram.count === 0 ? 0 : histogram.max / microsAMs,
      p50Ms: at(50),
      p90Ms: at(90),
      p99Ms: at(99),
      p999Ms: at(99.9),
    }),
  };
}
