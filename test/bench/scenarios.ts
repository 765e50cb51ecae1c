import type { DesignName } from './designs.js';
import { createZipf } from './random.js';
import type { Random } from './random.js';

/** What the clients ask for (pipeline §6). To add one: a line here, and where it is judged, lines in `targets.ts`. */
export interface Scenario {
  title: string;
  /** Keep-alive connections, each with one request in flight. */
  connections: number;
  /** Rows a request, each at a location of its own. */
  rows: number;
  /** The shortest window that says something: a request of 100 row transactions takes seconds. */
  measureMsMin: number;
  designs: readonly DesignName[];
  /** Which material the next request is about, as an index into the catalogue. */
  pick: (random: Random) => () => number;
}

export type ScenarioName = 'HOT' | 'SPREAD' | 'SKEW' | 'BATCH' | 'LONE';

/** Materials of the shop, all with a level at its first location. */
export const materialCount = 10_000;
/** Locations of the shop; one row each in a batch. */
export const locationCount = 100;
/** The first materials of the shop, which have a level at every location, are those that BATCH draws from. */
export const batchMaterialCount = 100;

const clients = 64;
const rowDesigns = ['ours', 'd', 'dPrime', 'f', 'g'] as const;

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  HOT: {
    title: 'one material',
    connections: clients,
    rows: 1,
    measureMsMin: 0,
    designs: rowDesigns,
    pick: () => () => 0,
  },
  SPREAD: {
    title: `${materialCount} materials, uniform`,
    connections: clients,
    rows: 1,
    measureMsMin: 0,
    designs: rowDesigns,
    pick: (random) => () => Math.floor(random() * materialCount),
  },
  SKEW: {
    title: `${materialCount} materials, Zipf 1.0`,
    connections: clients,
    rows: 1,
    measureMsMin: 0,
    designs: rowDesigns,
    pick: (random) => createZipf(materialCount, random),
  },
  BATCH: {
    title: `${locationCount} rows a request, ${batchMaterialCount} materials`,
    connections: clients,
    rows: locationCount,
    measureMsMin: 20_000,
    designs: ['ours', 'd1Prime', 'f', 'g'],
    pick: (random) => () => Math.floor(random() * batchMaterialCount),
  },
  LONE: {
    title: 'one material',
    connections: 1,
    rows: 1,
    measureMsMin: 0,
    designs: rowDesigns,
    pick: () => () => 0,
  },
};

export const scenarioNames = Object.keys(scenarios) as ScenarioName[];
