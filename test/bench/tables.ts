import type { Cell } from '../../shared/manage/format-table.js';
import type { PageTable } from '../load/page/render-page.js';
import { designs } from './designs.js';
import type { DesignName } from './designs.js';
import type { Timeline } from './hops/timeline.js';
import { loadText } from './round-text.js';
import { scenarios } from './scenarios.js';
import type { Summary } from './summary.js';
import { judge, targets } from './targets.js';
import type { Figures, Judged, Target } from './targets.js';

/** The figures, a line for each design under each load. */
export function figuresTable(summaries: readonly Summary[]): PageTable {
  const head = [
    ['', 'design', 'pool', 'load', 'workers'],
    ['requests/s', 'from – to', 'rows/s', 'p50 ms', 'p99 ms', 'from – to'],
    ['API MiB', 'worker MiB', 'faults'],
  ].flat();
  const rows = summaries.map((summary, index): Cell[] => [
    summaries[index - 1]?.scenario === summary.scenario ? '' : summary.scenario,
    designs[summary.design].symbol,
    summary.pool === undefined ? '' : String(summary.pool),
    loadText(summary.load),
    summary.workers === 0 ? '' : String(summary.workers),
    whole(summary.requestsASecond),
    summary.requestsASecondRange.map(whole).join(' – '),
    whole(summary.rowsASecond),
    summary.p50Ms.toFixed(2),
    summary.p99Ms.toFixed(2),
    summary.p99MsRange.map((ms) => ms.toFixed(1)).join(' – '),
    summary.peakMib === undefined ? '' : String(summary.peakMib.api),
    summary.peakMib === undefined || summary.workers === 0 ? '' : String(summary.peakMib.worker),
    summary.faults,
  ]);
  return { head, rows: rows.map(rightAligned) };
}

/** Where the time goes: CPU of each kind of process for a request, in microseconds. */
export function cpuTable(summaries: readonly Summary[]): PageTable {
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
  return { head, rows };
}

/** Must, aim and seen (pipeline §6), for the scenarios that were run. */
export function targetsTable(summaries: readonly Summary[]): PageTable {
  const rows = targetsSeen(summaries).map(({ target, must, aim }): Cell[] => [
    target.title,
    must.map(boundText).join(', '),
    must.map(seenText).join(', '),
    aim.map(boundText).join(', '),
    aim.map(seenText).join(', '),
  ]);
  return { head: ['', 'must', 'seen', 'aim', 'seen'], rows };
}

/** What the table says, as data. */
export function targetsSeen(summaries: readonly Summary[]): { target: Target; must: Judged[]; aim: Judged[] }[] {
  return targets.flatMap((target) => {
    const medians: Partial<Record<DesignName, Figures>> = {};
    for (const summary of summaries) if (summary.scenario === target.scenario) medians[summary.design] = summary;
    if (medians.ours === undefined) return [];
    const judgeAll = (bounds: Target['must']) => bounds.map((bound) => judge(target, bound, medians));
    return [{ target, must: judgeAll(target.must), aim: judgeAll(target.aim) }];
  });
}

/** Ours divided by each other design: throughput, p50 and p99. */
export function ratiosTable(summaries: readonly Summary[]): PageTable {
  const head = ['', 'ours divided by', 'requests/s', 'p50', 'p99'];
  const rows = summaries.flatMap((other): Cell[][] => {
    const ours = summaries.find(({ scenario, design }) => scenario === other.scenario && design === 'ours');
    if (ours === undefined || other === ours) return [];
    const ratio = (figure: keyof Figures) => (ours[figure] / other[figure]).toFixed(2);
    return [[other.scenario, designs[other.design].symbol, ratio('requestsASecond'), ratio('p50Ms'), ratio('p99Ms')]];
  });
  return { head, rows };
}

/** The way of a lone request, moment by moment; an arrow says who reads from or writes to whom. */
export function hopsTable({ hops, totalUs }: Timeline): PageTable {
  const rows = hops.map(({ what, us, atUs }): Cell[] => [
    what,
    Math.round(us),
    Math.round(atUs),
    `${Math.round((100 * us) / totalUs)} %`,
  ]);
  return { head: ['until', 'µs', 'since it was sent, µs', 'of all'], rows };
}

/** What the short names mean. */
export function legend(summaries: readonly Summary[]): string[] {
  const shownDesigns = [...new Set(summaries.map(({ design }) => design))];
  const shownScenarios = [...new Set(summaries.map(({ scenario }) => scenario))];
  return [
    ...shownScenarios.map((name) => `${name}: ${scenarios[name].title}, ${scenarios[name].connections} at a time`),
    ...shownDesigns.map((name) => `${designs[name].symbol}: ${designs[name].title}`),
  ];
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
