import type { DesignName } from './designs.js';
import type { ScenarioName } from './scenarios.js';

/** Figures of a design in a scenario, medians over its rounds. */
export interface Figures {
  requestsASecond: number;
  rowsASecond: number;
  p50Ms: number;
  p99Ms: number;
}

interface Bound {
  sense: '≥' | '≤';
  factor: number;
  of: DesignName;
}

export interface Target {
  title: string;
  scenario: ScenarioName;
  figure: keyof Figures;
  must: readonly Bound[];
  aim: readonly Bound[];
}

/**
 * What the pipeline must reach, and what it aims at (pipeline §6), as multiples of what another design reaches beside
 * it.
 */
export const targets: readonly Target[] = [
  {
    title: 'HOT throughput',
    scenario: 'HOT',
    figure: 'requestsASecond',
    must: [atLeast(9, 'dPrime')],
    aim: [atLeast(12, 'd')],
  },
  {
    title: 'SPREAD throughput',
    scenario: 'SPREAD',
    figure: 'requestsASecond',
    must: [atLeast(1.4, 'dPrime')],
    aim: [atLeast(2, 'd'), atLeast(1, 'f')],
  },
  {
    title: 'SKEW throughput',
    scenario: 'SKEW',
    figure: 'requestsASecond',
    must: [atLeast(1.3, 'dPrime')],
    aim: [atLeast(3, 'd')],
  },
  {
    title: 'BATCH rows/s',
    scenario: 'BATCH',
    figure: 'rowsASecond',
    must: [atLeast(12, 'd1Prime')],
    aim: [atLeast(25, 'd1Prime')],
  },
  { title: 'HOT p99', scenario: 'HOT', figure: 'p99Ms', must: [atMost(0.2, 'dPrime')], aim: [atMost(0.1, 'd')] },
  { title: 'SPREAD p99', scenario: 'SPREAD', figure: 'p99Ms', must: [atMost(1.5, 'dPrime')], aim: [atMost(0.6, 'd')] },
  {
    title: 'p50, 1 connection',
    scenario: 'LONE',
    figure: 'p50Ms',
    must: [atMost(1.6, 'dPrime')],
    aim: [atMost(1.2, 'd')],
  },
];

export interface Judged extends Bound {
  /** Ours divided by the other's; undefined where one of them was not measured. */
  seen: number | undefined;
  isMet: boolean | undefined;
}

/** Holds a bound against the medians of the scenario. */
export function judge(
  { figure }: Target,
  bound: Bound,
  medians: Readonly<Partial<Record<DesignName, Figures>>>,
): Judged {
  const ours = medians.ours?.[figure];
  const other = medians[bound.of]?.[figure];
  if (ours === undefined || other === undefined || other === 0) return { ...bound, seen: undefined, isMet: undefined };
  const seen = ours / other;
  return { ...bound, seen, isMet: bound.sense === '≥' ? seen >= bound.factor : seen <= bound.factor };
}

function atLeast(factor: number, of: DesignName): Bound {
  return { sense: '≥', factor, of };
}

function atMost(factor: number, of: DesignName): Bound {
  return { sense: '≤', factor, of };
}
