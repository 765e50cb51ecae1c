import { createHistogram, encodeHistogram, recordMs } from '../histogram.js';
import type { Histogram } from '../histogram.js';
import type { Stage, StageClock } from '../stage.js';
import type { Asked } from './lane.js';
import type { Verdict } from './verdict.js';

/** A stage as a generator saw it; histograms are encoded. */
export interface StageResult extends Stage {
  /** Full successes and their rows that were answered within it. */
  answered: number;
  rows: number;
  /** All ends of requests within it, by how they ended. */
  statuses: Record<string, number>;
  /** Full successes that were due within it, from when they were due. */
  latency: string;
  /** 429 and 503, from when they were sent. */
  refusals: string;
  /** How late requests went out, for want of a free connection. */
  lag: string;
}

/** A slice of time. */
export interface SeriesPoint {
  /** Its end, since the start of the run. */
  atMs: number;
  ms: number;
  load: number;
  counts: Record<Verdict, number>;
  latency: string;
}

interface OpenPoint extends Omit<SeriesPoint, 'latency'> {
  histogram: Histogram;
}

export interface Tally {
  record(asked: Asked, status: string, verdict: Verdict, nowMs: number): void;
  /** Ends the slices that are over, and returns the last one that has ended since the previous call. */
  takeEndedSlice(nowMs: number): SliceSeen | undefined;
  /** @param endedMs when the last request could have gone out; what is answered later still counts */
  stages(endedMs: number): StageResult[];
  /** @param endedMs as for `stages`; slices that begin later are the drain, without load */
  series(endedMs: number): SeriesPoint[];
}

export interface SliceSeen {
  counts: Record<Verdict, number>;
  ms: number;
  histogram: Histogram;
}

/** @param sliceMs of the series */
export function createTally(stages: readonly Stage[], clock: StageClock, sliceMs: number): Tally {
  const open = stages.map((stage) => ({
    stage,
    answered: 0,
    rows: 0,
    statuses: noStatuses(),
    latency: createHistogram(),
    refusals: createHistogram(),
    lag: createHistogram(2),
  }));
  const slices: OpenPoint[] = [];
  let slice = newSlice(0);
  /** The last, kept because mostly an answer ends a slice, and whoever asks for it comes later. */
  let ended: SliceSeen | undefined;
  let lastOkMs = -Infinity;

  function newSlice(startMs: number): OpenPoint {
    const middleMs = clock.startMs + startMs + sliceMs / 2;
    const counts = { ok: 0, refused: 0, failed: 0, unknown: 0 };
    return {
      atMs: startMs + sliceMs,
      ms: sliceMs,
      load: clock.loadAt(middleMs),
      counts,
      histogram: createHistogram(2),
    };
  }

  function endSlices(nowMs: number): void {
    while (nowMs - clock.startMs >= slice.atMs) {
      slices.push((ended = slice));
      slice = newSlice(slice.atMs);
    }
  }

  return {
    record({ request, dueMs, sentMs }, status, verdict, nowMs) {
      const latencyMs = nowMs - dueMs;
      const due = open[clock.stageAt(dueMs)];
      const current = open[clock.stageAt(nowMs)];
      endSlices(nowMs);
      slice.counts[verdict] += 1;
      if (current !== undefined) current.statuses[status] = (current.statuses[status] ?? 0) + 1;
      if (due !== undefined) recordMs(due.lag, sentMs - dueMs);
      if (verdict === 'ok') {
        recordMs(slice.histogram, latencyMs);
        if (due !== undefined) recordMs(due.latency, latencyMs);
        if (current !== undefined) {
          current.answered += 1;
          lastOkMs = nowMs;
          current.rows += request.rows;
        }
      } else if (verdict === 'refused' && due !== undefined) {
        recordMs(due.refusals, nowMs - sentMs);
      }
    },
    takeEndedSlice(nowMs) {
      endSlices(nowMs);
      const taken = ended;
      ended = undefined;
      return taken;
    },
    stages: (endedMs) =>
      open.flatMap(({ stage, answered, rows, statuses, latency, refusals, lag }, index): StageResult[] => {
        const endMs = clock.endsMs[index] ?? 0;
        const beginMs = endMs - stage.ms;
        if (endedMs <= beginMs) return [];
        // A run that ended early lasts until the last answer that counts: without the time that what was in flight still
        // took, its rate would be that of a faster service.
        const ms = Math.min(endMs, Math.max(endedMs, lastOkMs)) - beginMs;
        const encoded = {
          latency: encodeHistogram(latency),
          refusals: encodeHistogram(refusals),
          lag: encodeHistogram(lag),
        };
        return [{ ...stage, ms, answered, rows, statuses, ...encoded }];
      }),
    series: (endedMs) =>
      slices.map(({ histogram, load, ...point }) => {
        const isDrain = clock.startMs + point.atMs - point.ms >= endedMs;
        return { ...point, load: isDrain ? 0 : load, latency: encodeHistogram(histogram) };
      }),
  };
}

function noStatuses(): Record<string, number> {
  return {};
}
