import type { DesignName } from './designs.js';
import type { Round } from './measure-round.js';
import type { ProcessRole } from './process-times.js';
import type { ScenarioName } from './scenarios.js';
import type { Figures } from './targets.js';

/** The rounds of a design in a scenario, as one line of the table. */
export interface Summary extends Figures {
  design: DesignName;
  scenario: ScenarioName;
  pool: number | undefined;
  rounds: number;
  /** Smallest and largest of the rounds. */
  requestsASecondRange: [number, number];
  cpuMsARequest: Record<ProcessRole, number> | undefined;
  foreignCores: number | undefined;
  /** Answers other than full successes, and disagreements with the database, over all rounds. */
  faults: number;
}

/** One summary for each design, in the order of their first rounds. */
export function summarise(rounds: readonly Round[]): Summary[] {
  const byDesign = new Map<string, Round[]>();
  for (const round of rounds) {
    const name = `${round.scenario} ${round.design}`;
    byDesign.set(name, [...(byDesign.get(name) ?? []), round]);
  }
  return [...byDesign.values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const rates = own.map(({ requestsASecond }) => requestsASecond);
    return [
      {
        design: first.design,
        scenario: first.scenario,
        pool: first.pool,
        rounds: own.length,
        requestsASecond: median(rates),
        requestsASecondRange: [Math.min(...rates), Math.max(...rates)],
        rowsASecond: median(own.map(({ rowsASecond }) => rowsASecond)),
        p50Ms: median(own.map(({ latency }) => latency.p50Ms)),
        p99Ms: median(own.map(({ latency }) => latency.p99Ms)),
        cpuMsARequest: medianCpu(own),
        foreignCores: median(own.flatMap(({ foreignCores }) => foreignCores ?? [])),
        faults: own.reduce((total, round) => total + faultsOf(round), 0),
      },
    ];
  });
}

/** Above this share of a core that other programs took, a round says as much about them as about the design. */
export const disturbedCores = 0.2;

export function isDisturbed({ foreignCores }: Round): boolean {
  return foreignCores !== undefined && foreignCores > disturbedCores;
}

export function faultsOf({ failures, problems }: Round): number {
  return Object.values(failures).reduce((total, count) => total + count, 0) + problems.length;
}

/** Of an even number the mean of the two in the middle; NaN of none. */
function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

function medianCpu(rounds: readonly Round[]): Summary['cpuMsARequest'] {
  const [first] = rounds;
  if (first?.cpuMsARequest === undefined) return undefined;
  const roles = Object.keys(first.cpuMsARequest) as ProcessRole[];
  return Object.fromEntries(
    roles.map((role) => [role, median(rounds.flatMap(({ cpuMsARequest }) => cpuMsARequest?.[role] ?? []))]),
  ) as Record<ProcessRole, number>;
}
