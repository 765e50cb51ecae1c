import { namedScenarios, rowsMaxOf } from '../load/scenario.js';
import type { NamedScenario, Scenario } from '../load/scenario.js';
import type { DesignName } from './designs.js';

/** What the clients ask for (pipeline §6). To add one: a line here, and where it is judged, lines in `targets.ts`. */
export interface BenchScenario {
  title: string;
  load: Scenario;
  /** Keep-alive connections, each with one request in flight. */
  connections: number;
  designs: readonly DesignName[];
}

export type ScenarioName = NamedScenario | 'LONE';

/** Materials of the shop, all with a level at its first location. */
export const materialCount = 10_000;
/** Locations of the shop; one row each in a batch. */
export const locationCount = rowsMaxOf(namedScenarios.BATCH);
/** The first materials of the shop, which have a level at every location, are those that BATCH draws from. */
export const batchMaterialCount = namedScenarios.BATCH.materials;

const clients = 64;
const rowDesigns = ['ours', 'd', 'dPrime', 'f', 'g'] as const;

export const scenarios: Readonly<Record<ScenarioName, BenchScenario>> = {
  HOT: { title: 'one material', load: namedScenarios.HOT, connections: clients, designs: rowDesigns },
  SPREAD: {
    title: `${materialCount} materials, uniform`,
    load: namedScenarios.SPREAD,
    connections: clients,
    designs: rowDesigns,
  },
  SKEW: {
    title: `${materialCount} materials, Zipf 1.0`,
    load: namedScenarios.SKEW,
    connections: clients,
    designs: rowDesigns,
  },
  BATCH: {
    title: `${locationCount} rows a request, ${batchMaterialCount} materials`,
    load: namedScenarios.BATCH,
    connections: clients,
    designs: ['ours', 'd1Prime', 'f', 'g'],
  },
  MIXED: {
    title: namedScenarios.MIXED.title,
    load: namedScenarios.MIXED,
    connections: clients,
    designs: ['ours', 'dPrime', 'f'],
  },
  LONE: { title: 'one material, one request at a time', load: namedScenarios.HOT, connections: 1, designs: rowDesigns },
};

export const scenarioNames = Object.keys(scenarios) as ScenarioName[];

/** A request of 100 row transactions takes seconds: a shorter window of them says nothing (pipeline §6). */
const slowWindowMs = 20_000;

export function windowMs(scenario: ScenarioName, design: DesignName, measureMs: number): number {
  return scenario === 'BATCH' && design === 'd1Prime' ? Math.max(measureMs, slowWindowMs) : measureMs;
}
