import { formatTable } from '../../shared/manage/format-table.js';
import type { Cell } from '../../shared/manage/format-table.js';
import { designs } from './designs.js';
import type { DesignName } from './designs.js';
import { scenarios } from './scenarios.js';
import type { Summary } from './summary.js';
import { judge, targets } from './targets.js';
import type { Figures, Judged, Target } from './targets.js';

/** The figures, a line for each design in each scenario. */
export function figuresTable(summaries: readonly Summary[]): string {
  const head = ['', 'design', 'pool', 'requests/s', 'from – to', 'rows/s', 'p50 ms', 'p99 ms', 'faults'];
  const rows = summaries.map((summary, index): Cell[] => [
    summaries[index - 1]?.scenario === summary.scenario ? '' : summary.scenario,
    designs[summary.design].symbol,
    summary.pool === undefined ? '' : String(summary.pool),
    whole(summary.requestsASecond),
    summary.requestsASecondRange.map(whole).join(' – '),
    whole(summary.rowsASecond),
    summary.p50Ms.toFixed(2),
    summary.p99Ms.toFixed(2),
    summary.faults,
  ]);
  return formatTable(head, rows.map(rightAligned));
}

/** Where the time goes: CPU of each kind of process for a request, in microseconds. */
export function cpuTable(summaries: readonly Summary[]): string {
  const head = [
    '',
    'design',
    'API µs',
    'worker µs',
    'Redis µs',
    'Postgres µs',
    'together',
    'generator µs',
    'others, cores',
  ];
  const micros = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms * 1_000));
  const rows = summaries.map(({ scenario, design, cpuMsARequest: cpu, foreignCores }, index): Cell[] => [
    summaries[index - 1]?.scenario === scenario ? '' : scenario,
    designs[design].symbol,
    micros(cpu?.api),
    micros(cpu?.worker),
    micros(cpu?.redis),
    micros(cpu?.postgres),
    micros(cpu && cpu.api + cpu.worker + cpu.redis + cpu.postgres),
    micros(cpu?.generator),
    foreignCores?.toFixed(2),
  ]);
  return formatTable(head, rows);
}

/** Must, aim and seen (pipeline §6), for the scenarios that were run. */
export function targetsTable(summaries: readonly Summary[]): string {
  const rows = targetsSeen(summaries).flatMap(({ target, must, aim }): Cell[][] => [
    [
      target.title,
      must.map(boundText).join(', '),
      must.map(seenText).join(', '),
      aim.map(boundText).join(', '),
      aim.map(seenText).join(', '),
    ],
  ]);
  return formatTable(['', 'must', 'seen', 'aim', 'seen'], rows);
}

/** What the tables say, as data. */
export function targetsSeen(summaries: readonly Summary[]): { target: Target; must: Judged[]; aim: Judged[] }[] {
  return targets.flatMap((target) => {
    const medians: Partial<Record<DesignName, Figures>> = {};
    for (const summary of summaries) if (summary.scenario === target.scenario) medians[summary.design] = summary;
    if (medians.ours === undefined) return [];
    const judgeAll = (bounds: Target['must']) => bounds.map((bound) => judge(target, bound, medians));
    return [{ target, must: judgeAll(target.must), aim: judgeAll(target.aim) }];
  });
}

/** What the short names mean. */
export function legend(summaries: readonly Summary[]): string {
  const shownDesigns = [...new Set(summaries.map(({ design }) => design))];
  const shownScenarios = [...new Set(summaries.map(({ scenario }) => scenario))];
  return [
    ...shownScenarios.map((name) => `${name}: ${scenarios[name].title}, ${scenarios[name].connections} at a time`),
    ...shownDesigns.map((name) => `${designs[name].symbol}: ${designs[name].title}`),
  ].join('\n');
}

function boundText({ sense, factor, of }: Judged): string {
  return `${sense} ${factor} × ${designs[of].symbol}`;
}

function seenText({ seen, isMet }: Judged): string {
  return seen === undefined ? 'not measured' : `${seen.toFixed(2)} ${isMet === true ? '✓' : '✗'}`;
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}

/** Figures with separators are texts to the table, which sets texts to the left. */
function rightAligned(row: Cell[], _: number, rows: Cell[][]): Cell[] {
  return row.map((cell, column) => {
    if (column < 2 || typeof cell !== 'string') return cell;
    return cell.padStart(Math.max(...rows.map((other) => String(other[column] ?? '').length)));
  });
}
