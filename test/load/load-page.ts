import { problemsOf, remarksOf, unheldOf } from './load-text.js';
import type { LatencySummary } from './histogram.js';
import type { LinePlot, PageTable } from './page/render-page.js';
import { renderPage } from './page/render-page.js';
import type { LoadReport } from './run-load.js';

/** The report of a load run as one HTML page that needs nothing else. */
export function loadPage(report: LoadReport): string {
  const { summary, levels, thresholds, probes } = report;
  const judged = thresholds.map(
    ({ text, seen, isMet }) => `${isMet ? 'Met' : 'MISSED'}: ${text} (seen: ${seen ?? 'nothing to measure'})`,
  );
  const checked =
    levels &&
    `${levels.levels} levels held against ${levels.acknowledged} acknowledged units (${levels.open} of unknown outcome): ` +
      `${levels.wrong} wrong; ${probes.count} read on the way.`;
  return renderPage({
    title: `Load: ${report.scenario}, ${report.title}`,
    lines: [
      `${report.baseUrl}, ${report.loop} loop, ${report.connectionsMax} connections at most, ${summary.startedAt}`,
      `${summary.total.answered} full successes in ${(summary.total.ms / 1_000).toFixed(1)} s: ${summary.total.requestsASecond.toFixed(0)} requests a second, ${summary.total.rowsASecond.toFixed(0)} rows.`,
      ...remarksOf(report),
      ...(checked === undefined ? [] : [checked]),
      ...judged,
      ...problemsOf(report).map((problem) => `WRONG: ${problem}`),
      ...unheldOf(report),
    ],
    sections: [
      { title: 'Stages', table: stagesTable(report) },
      { title: 'Over time', plots: [latencyOverTime(report), throughput(report), load(report)] },
      { title: 'Latency by percentile', plots: [percentileCurve(report)] },
      { title: 'Answers', table: statusTable(summary.statuses) },
    ],
  });
}

function stagesTable({ summary, loop }: LoadReport): PageTable {
  const rows = summary.stages.map((stage) => [
    stage.isWarmup ? 'warm-up' : '',
    stage.from === stage.to ? stage.from : `${stage.from}..${stage.to}`,
    stage.ms / 1_000,
    Math.round(stage.requestsASecond),
    Math.round(stage.rowsASecond),
    ...latencyCells(stage.latency),
    stage.refusals.count === 0 ? '' : stage.refusals.p99Ms.toFixed(2),
    stage.lagP99Ms.toFixed(2),
  ]);
  const head = [
    '',
    loop === 'open' ? 'due/s' : 'connections',
    's',
    'ok/s',
    'rows/s',
    'p50 ms',
    'p90',
    'p99',
    'p99.9',
    'max',
  ];
  return { head: [...head, 'refusals p99', 'sent late p99'], rows };
}

function latencyCells({ count, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: LatencySummary): string[] {
  return [p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map((ms) => (count === 0 ? '' : ms.toFixed(2)));
}

function statusTable(statuses: Readonly<Record<string, number>>): PageTable {
  return { head: ['answer', 'count'], rows: Object.entries(statuses) };
}

function overTime(report: LoadReport): Pick<LinePlot, 'kind' | 'xTitle' | 'xScale' | 'xs'> {
  const xs = report.summary.series.map(({ atMs }) => atMs / 1_000);
  return { kind: 'lines', xTitle: 'seconds', xScale: 'linear', xs };
}

function latencyOverTime(report: LoadReport): LinePlot {
  const { series } = report.summary;
  const of = (name: string, figure: 'p50Ms' | 'p90Ms' | 'p99Ms' | 'maxMs') => ({
    name,
    values: series.map((point) => (point.aSecond.ok === 0 ? null : point[figure])),
  });
  return {
    ...overTime(report),
    title: 'Latency of full successes',
    yTitle: 'ms',
    yScale: 'log',
    series: [of('p50', 'p50Ms'), of('p90', 'p90Ms'), of('p99', 'p99Ms'), of('max', 'maxMs')],
  };
}

function throughput(report: LoadReport): LinePlot {
  const { series } = report.summary;
  const of = (name: string, verdict: 'ok' | 'refused' | 'failed' | 'unknown') => ({
    name,
    values: series.map(({ aSecond }) => aSecond[verdict]),
  });
  return {
    ...overTime(report),
    title: 'Throughput and status',
    yTitle: 'a second',
    yScale: 'linear',
    series: [
      of('full successes', 'ok'),
      of('429, 503', 'refused'),
      of('other errors', 'failed'),
      of('unknown', 'unknown'),
    ],
  };
}

function load(report: LoadReport): LinePlot {
  const name = report.loop === 'open' ? 'requests due a second' : 'connections';
  const values = report.summary.series.map((point) => point.load);
  return { ...overTime(report), title: 'Load', yTitle: name, yScale: 'linear', series: [{ name, values }] };
}

function percentileCurve({ summary }: LoadReport): LinePlot {
  const points = summary.percentiles.filter(({ percentile }) => percentile < 100);
  return {
    kind: 'lines',
    title: 'Latency of full successes, by percentile',
    xTitle: 'percentile',
    yTitle: 'ms',
    xScale: 'percentile',
    yScale: 'log',
    xs: points.map(({ percentile }) => 1 / (1 - percentile / 100)),
    series: [{ name: 'latency', values: points.map(({ ms }) => ms) }],
  };
}
