import { createZipf } from './random.js';
import type { Random } from './random.js';

/** One kind of request of a scenario. `weight`: how often it comes, in proportion to the others. */
export type Ask =
  | { ask: 'adjust'; weight: number; rows: number }
  | { ask: 'levels' | 'material' | 'health'; weight: number }
  | { ask: 'list'; weight: number; pageSize: number; query?: string };

/** What clients ask for. The named ones below and a user's own file have this same shape. */
export interface Scenario {
  title: string;
  /** How many of the shop's materials take part; all that there are by default. */
  materials?: number;
  /** Which of them a request is about: always the first, all alike, or the n-th as likely as 1/n (Zipf 1.0). */
  pick: 'first' | 'uniform' | 'zipf';
  mix: readonly Ask[];
}

export const namedScenarios = {
  HOT: { title: 'one material', pick: 'first', mix: [{ ask: 'adjust', weight: 1, rows: 1 }] },
  SPREAD: { title: 'all materials alike', pick: 'uniform', mix: [{ ask: 'adjust', weight: 1, rows: 1 }] },
  SKEW: { title: 'Zipf 1.0', pick: 'zipf', mix: [{ ask: 'adjust', weight: 1, rows: 1 }] },
  BATCH: {
    title: '100 rows a request, 100 materials',
    materials: 100,
    pick: 'uniform',
    mix: [{ ask: 'adjust', weight: 1, rows: 100 }],
  },
  MIXED: {
    title: '70 % reads of levels and single materials, 20 % adjustments, 10 % lists',
    pick: 'uniform',
    mix: [
      { ask: 'levels', weight: 35 },
      { ask: 'material', weight: 35 },
      { ask: 'adjust', weight: 20, rows: 1 },
      { ask: 'list', weight: 10, pageSize: 50 },
    ],
  },
} as const satisfies Readonly<Record<string, Scenario>>;

export type NamedScenario = keyof typeof namedScenarios;

export const scenarioNames = Object.keys(namedScenarios) as NamedScenario[];

/** Materials that take part, of those that are there. */
export function materialsIn({ materials, pick }: Scenario, available: number): number {
  return pick === 'first' ? Math.min(1, available) : Math.min(materials ?? available, available);
}

/** The most rows that a request of it has; 0 where it only reads. */
export function rowsMaxOf({ mix }: Scenario): number {
  return Math.max(0, ...mix.map((one) => (one.ask === 'adjust' ? one.rows : 0)));
}

/** Indices of materials, from 0 to below `count`. */
export function pickerOf({ pick }: Scenario, count: number, random: Random): () => number {
  if (pick === 'first') return () => 0;
  return pick === 'zipf' ? createZipf(count, random) : () => Math.floor(random() * count);
}
