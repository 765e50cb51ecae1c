import type { DesignName } from './designs.js';
import { median } from './median.js';
import type { ProcessRole } from './process-times.js';
import type { Round, RoundLoad } from './round.js';
import type { ScenarioName } from './scenarios.js';
import type { Figures } from './targets.js';

/** The rounds of a design under one load, as one line of the table. */
export interface Summary extends Figures {
  design: DesignName;
  scenario: ScenarioName;
  load: RoundLoad;
  workers: number;
  pool: number | undefined;
  rounds: number;
  /** Smallest and largest of the rounds. */
  requestsASecondRange: [number, number];
  p99MsRange: [number, number];
  cpuMsARequest: Record<ProcessRole, number> | undefined;
  /** The most of all rounds, MiB. */
  peakMib: { api: number; worker: number } | undefined;
  foreignCores: number | undefined;
  /** Answers other than full successes, and disagreements with the database, over all rounds. */
  faults: number;
}

/** One summary for each design and load, in the order of their first rounds. */
export function summarise(rounds: readonly Round[]): Summary[] {
  const groups = new Map<string, Round[]>();
  for (const round of rounds) {
    const name = `${round.scenario} ${round.design} ${JSON.stringify(round.load)} ${round.workers}`;
    groups.set(name, [...(groups.get(name) ?? []), round]);
  }
  return [...groups.values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const rates = own.map(({ requestsASecond }) => requestsASecond);
    const p99s = own.map(({ latency }) => latency.p99Ms);
    return [
      {
        design: first.design,
        scenario: first.scenario,
        load: first.load,
        workers: first.workers,
        pool: first.pool,
        rounds: own.length,
        requestsASecond: median(rates),
        requestsASecondRange: [Math.min(...rates), Math.max(...rates)],
        rowsASecond: median(own.map(({ rowsASecond }) => rowsASecond)),
        p50Ms: median(own.map(({ latency }) => latency.p50Ms)),
        p99Ms: median(p99s),
        p99MsRange: [Math.min(...p99s), Math.max(...p99s)],
        cpuMsARequest: medianCpu(own),
        peakMib: peaksOf(own),
        foreignCores: medianOfTold(own.map(({ foreignCores }) => foreignCores)),
        faults: own.reduce((total, round) => total + faultsOf(round), 0),
      },
    ];
  });
}

/** Above this share of a core that others took, a round says as much about them as about the design. */
export const disturbedCores = 0.2;

export function isDisturbed({ foreignCores }: Round): boolean {
  return foreignCores !== undefined && foreignCores > disturbedCores;
}

export function faultsOf({ failures, problems }: Round): number {
  return Object.values(failures).reduce((total, count) => total + count, 0) + problems.length;
}

/** Undefined where the system told none. */
function medianOfTold(figures: readonly (number | undefined)[]): number | undefined {
  const told = figures.filter((figure) => figure !== undefined);
  return told.length === 0 ? undefined : median(told);
}

function peaksOf(rounds: readonly Round[]): Summary['peakMib'] {
  const peaks = rounds.flatMap(({ peakMib }) => peakMib ?? []);
  if (peaks.length === 0) return undefined;
  return { api: Math.max(...peaks.map(({ api }) => api)), worker: Math.max(...peaks.map(({ worker }) => worker)) };
}

function medianCpu(rounds: readonly Round[]): Summary['cpuMsARequest'] {
  const [first] = rounds;
  if (first?.cpuMsARequest === undefined) return undefined;
  const roles = Object.keys(first.cpuMsARequest) as ProcessRole[];
  return Object.fromEntries(
    roles.map((role) => [role, median(rounds.flatMap(({ cpuMsARequest }) => cpuMsARequest?.[role] ?? []))]),
  ) as Record<ProcessRole, number>;
}
