import { formatTable } from '../../shared/manage/format-table.js';
import type { PageTable } from '../load/page/render-page.js';
import type { Timeline } from './hops/timeline.js';
import { hostText } from './machine.js';
import type { Machine } from './machine.js';
import type { Ceiling } from './measure-round.js';
import type { BenchOptions } from './options.js';
import type { Sweep } from './pools.js';
import type { RedisSeen } from './redis-watch.js';
import type { Round } from './round.js';
import type { ScenarioName } from './scenarios.js';
import { specialProblems, specialsText } from './specials-text.js';
import type { Specials } from './specials-text.js';
import { disturbedCores, faultsOf, isDisturbed, summarise } from './summary.js';
import type { Summary } from './summary.js';
import { cpuTable, figuresTable, hopsTable, legend, ratiosTable, targetsTable } from './tables.js';
import type { targetsSeen } from './tables.js';

/** What the parts saw. */
export interface BenchRun {
  rounds: Round[];
  redis: (RedisSeen & { scenario: ScenarioName })[];
  connections: Round[];
  workers: Round[];
  open: Round[];
  hops?: Timeline;
  specials: Specials;
}

/** All of it, as it is written to the file. */
export interface BenchReport extends BenchRun {
  at: string;
  machine: Machine;
  postgres: Record<string, string>;
  redisVersion: string;
  options: BenchOptions;
  ceiling: Ceiling | undefined;
  sweeps: Sweep[];
  summaries: Summary[];
  targets: ReturnType<typeof targetsSeen>;
  /** What databases and acknowledgements disagree about at the end. */
  problems: string[];
  loadAverageAfter: number;
  /** The part of the CPU time wanted here that the host took, over the whole run. */
  stolenPart: number | undefined;
  seconds: number;
}

/** The tables, for a terminal. */
export function reportText(report: BenchReport): string {
  const { summaries, connections, workers, open, hops, specials, machine } = report;
  const blocks: string[] = [];
  const addRounds = (title: string, rounds: readonly Round[]) => {
    if (rounds.length > 0) blocks.push(`${title}\n${textOf(figuresTable(summarise(rounds)))}`);
  };
  if (summaries.length > 0) {
    blocks.push(textOf(figuresTable(summaries)), `CPU for a request\n${textOf(cpuTable(summaries))}`);
    const targets = targetsTable(summaries);
    if (targets.rows.length > 0) blocks.push(textOf(targets));
    const ratios = ratiosTable(summaries);
    if (ratios.rows.length > 0) blocks.push(textOf(ratios));
  }
  addRounds('By connections', connections);
  addRounds('By worker processes', workers);
  addRounds('Open loop: latency from when a request was due', open);
  if (hops !== undefined)
    blocks.push(`A lone request, hop by hop (medians of ${hops.matching})\n${textOf(hopsTable(hops))}`);
  blocks.push([...specialsText(specials), ...redisLines(report)].join('\n'));
  blocks.push(
    [
      ...legend(summaries),
      `load average: ${machine.loadAverage} before, ${report.loadAverageAfter} after; ${Math.round(report.seconds)} s in all${hostText(report.stolenPart)}`,
      ...warnings(report),
    ].join('\n'),
  );
  return blocks.filter((block) => block !== '').join('\n\n');
}

/** What must not be: a change that is lost or was made twice, and answers that no part expects. */
export function faultsIn(report: BenchReport): number {
  const failed = allRounds(report).reduce((total, round) => total + faultsOf(round), 0);
  return failed + report.problems.length + specialProblems(report.specials).length;
}

/** Each once: a round can stand under its scenario and under its number of connections. */
function allRounds({ rounds, connections, workers, open }: BenchRun): Round[] {
  return [...new Set([...rounds, ...connections, ...workers, ...open])];
}

/** Above this, what the host gave to other machines shows in the figures. */
const stolenPartMax = 0.02;

export function warnings(report: BenchReport): string[] {
  const { problems, specials, stolenPart = 0 } = report;
  const all = allRounds(report);
  const disturbed = all.filter(isDisturbed).length;
  const lines = [...problems, ...specialProblems(specials)].map((problem) => `WRONG: ${problem}`);
  if (disturbed > 0) {
    lines.push(
      `NOT A QUIET MACHINE: in ${disturbed} of ${all.length} rounds other programs, or the host for other machines, took more than ${disturbedCores} cores; the ratios are worth little.`,
    );
  }
  if (stolenPart > stolenPartMax) {
    lines.push(
      `NOT A MACHINE OF ITS OWN: where the host takes more than ${100 * stolenPartMax} % (steal), figures say as much about it as about a design.`,
    );
  }
  const faults = faultsIn(report);
  if (faults > 0) lines.push(`${faults} faults: what was acknowledged and what is there differ, or requests failed.`);
  return lines;
}

export function redisLines({ redis }: Pick<BenchRun, 'redis'>): string[] {
  if (redis.length === 0) return [];
  const left = Math.max(...redis.map(({ materialKeys }) => materialKeys));
  const shapes = new Set(redis.map(({ connections }) => JSON.stringify(Object.entries(connections).toSorted())));
  return [
    `keys of idle materials in Redis (must: 0): ${left}`,
    `Redis connections ${shapes.size === 1 ? 'the same after every round' : 'differed between rounds'}: ${[...shapes].join(' / ')}`,
  ];
}

function textOf({ head, rows }: PageTable): string {
  return formatTable(head, rows);
}
