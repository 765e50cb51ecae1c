import { formatTable } from '../../shared/manage/format-table.js';
import type { Cell } from '../../shared/manage/format-table.js';
import type { Progress } from './generator/load-run.js';
import type { LatencySummary } from './histogram.js';
import type { LoadFigures, LoadSummary, StageSummary } from './load-summary.js';
import type { LoadReport } from './run-load.js';

/** A line of progress. */
export function progressText({ atMs, load, okASecond, p50Ms, p99Ms, others, waiting }: Progress, unit: string): string {
  const parts = [
    `${(atMs / 1_000).toFixed(1).padStart(6)} s`,
    `${Math.round(load)} ${unit}`,
    `${Math.round(okASecond)} ok/s`,
    `p50 ${p50Ms.toFixed(1)} ms`,
    `p99 ${p99Ms.toFixed(1)} ms`,
    `${others} not ok`,
  ];
  if (waiting > 0) parts.push(`${waiting} wait for a connection`);
  return parts.join('  ');
}

/** What the run came to, for a terminal. */
export function reportText(report: LoadReport): string {
  const { summary, levels, probes, thresholds } = report;
  const lines = [
    `${report.scenario}: ${report.title}, ${report.loop} loop, ${report.baseUrl}`,
    '',
    figuresTable(report),
    '',
    `latency, ms: ${percentilesText(summary)}`,
    `answers: ${countsText(summary.statuses)}`,
  ];
  lines.push(...remarksOf(report));
  if (levels !== undefined) {
    const { wrong, acknowledged, open } = levels;
    const change = `${acknowledged} units acknowledged, ${open} of unknown outcome`;
    lines.push(`levels: ${levels.levels} held against ${change}; ${wrong} wrong; ${probes.count} read on the way`);
  }
  for (const problem of problemsOf(report)) lines.push(`WRONG: ${problem}`);
  lines.push(...unheldOf(report));
  for (const { text, seen, isMet } of thresholds)
    lines.push(`${isMet ? 'met   ' : 'MISSED'}  ${text}  (${seen === undefined ? 'nothing to measure' : round(seen)})`);
  return lines.join('\n');
}

/** What the figures do not show. */
export function remarksOf({ summary: { neverSent, withoutRetryAfter } }: LoadReport): string[] {
  return [
    ...(neverSent > 0 ? [`never sent, for want of a free connection: ${neverSent}`] : []),
    ...(withoutRetryAfter > 0 ? [`429 and 503 without Retry-After: ${withoutRetryAfter}`] : []),
  ];
}

/** That nobody knows whether a level is wrong: without this line, none seems to be. */
export function unheldOf({ unheld }: LoadReport): string[] {
  return unheld === undefined ? [] : [`NOT HELD against the levels, which could not be read: ${unheld}`];
}

/** What must not be: each is a fault of the service, or a client beside this load that changed the same levels. */
export function problemsOf({ levels, probes, summary }: LoadReport): string[] {
  const problems = [...probes.problems, ...(levels?.problems ?? [])];
  const more = (levels?.wrong ?? 0) - (levels?.problems.length ?? 0);
  if (more > 0) problems.push(`and ${more} levels more`);
  if ((summary.statuses['200'] ?? 0) === 0) problems.push('not one request succeeded');
  return problems;
}

function figuresTable({ summary, loop }: LoadReport): string {
  const head = [
    '',
    loop === 'open' ? 'due/s' : 'connections',
    's',
    'ok/s',
    'rows/s',
    'p50 ms',
    'p99 ms',
    'max ms',
    'answers',
  ];
  const counted = summary.stages.filter(({ isWarmup }) => !isWarmup);
  const rows = counted.map((stage, index) => cells(`${index + 1}`, loadText(stage), stage));
  if (counted.length !== 1) rows.push(cells('all', '', summary.total));
  return formatTable(head, rows);
}

function cells(name: string, load: string, figures: LoadFigures): Cell[] {
  const { ms, requestsASecond, rowsASecond, latency, statuses } = figures;
  return [
    name,
    load,
    round(ms / 1_000),
    Math.round(requestsASecond),
    Math.round(rowsASecond),
    ...latencyCells(latency),
    countsText(statuses),
  ];
}

/** If nothing that was due was answered, there is no latency. */
function latencyCells({ count, p50Ms, p99Ms, maxMs }: LatencySummary): Cell[] {
  return count === 0 ? ['–', '–', '–'] : [p50Ms.toFixed(2), p99Ms.toFixed(2), maxMs.toFixed(1)];
}

function loadText({ from, to }: StageSummary): string {
  return from === to ? String(round(from)) : `${round(from)}..${round(to)}`;
}

const percentilesShown = [50, 75, 90, 95, 99, 99.9, 99.99, 100];

function percentilesText({ percentiles }: LoadSummary): string {
  if (percentiles.length === 0) return 'none, as nothing that was due in the time that counts was answered';
  const shown = percentiles.filter(({ percentile }) => percentilesShown.includes(round(percentile)));
  return shown.map(({ percentile, ms }) => `p${round(percentile)} ${ms.toFixed(2)}`).join('  ');
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

function round(number: number): number {
  return Math.round(number * 1_000) / 1_000;
}
