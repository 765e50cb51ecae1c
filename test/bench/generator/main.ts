import type { Catalogue } from '../catalogue.js';
import { serveParent } from '../parent-channel.js';
import type { ScenarioName } from '../scenarios.js';
import { runClosedLoop } from './closed-loop.js';
import type { LoadOptions, LoadResult } from './closed-loop.js';
import { planHealth, planRequests } from './plan-requests.js';

/** The process that makes the load: it does nothing else, so that its CPU time is the price of asking. */

export type LoadCall = Omit<LoadOptions, 'next' | 'onPhase'> & { scenario: ScenarioName | 'health'; seed: number };

let catalogue: Catalogue | undefined;

const tell = serveParent({
  prepare: async (given: Catalogue): Promise<void> => {
    catalogue = given;
  },
  run: async ({ scenario, seed, ...options }: LoadCall, onPhase): Promise<LoadResult> => {
    if (catalogue === undefined) throw new Error('prepare comes first');
    const next = scenario === 'health' ? planHealth() : planRequests(scenario, catalogue, seed);
    return runClosedLoop({ ...options, next, onPhase });
  },
});
tell({ type: 'ready' });
