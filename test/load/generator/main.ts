import { rowsMaxOf } from '../scenario.js';
import { serveParent } from '../parent-channel.js';
import type { Standing } from './accounts.js';
import { createLoadRun } from './load-run.js';
import type { LoadOrder, LoadResult, LoadRun, Progress } from './load-run.js';
import { planRequests } from './plan-requests.js';
import type { RequestPlan } from './plan-requests.js';

/** The process that makes the load: it does nothing else, so that its CPU time is the price of asking. */

export interface LoadCall {
  order: LoadOrder;
  plan: RequestPlan;
}

/** What it tells on the way. */
export type LoadEvent = { type: 'stage'; index: number } | { type: 'progress'; progress: Progress };

// Ctrl-C reaches every process of the terminal; this one ends with its parent, once that has what it measured.
process.on('SIGINT', () => undefined);

let current: LoadRun | undefined;
/** A Ctrl-C may come before the load: the levels are read first. */
let isStopped = false;

const tell = serveParent({
  run: async ({ order, plan }: LoadCall, emit): Promise<LoadResult> => {
    const { mix } = plan.scenario;
    if (rowsMaxOf(plan.scenario) > plan.catalogue.locationIds.length) throw new Error('more rows than locations');
    current = createLoadRun(order, {
      next: planRequests(plan),
      kinds: mix.length,
      onStage: (index) => emit({ type: 'stage', index } satisfies LoadEvent),
      onProgress: (progress) => emit({ type: 'progress', progress } satisfies LoadEvent),
    });
    if (isStopped) current.stop();
    isStopped = false;
    return current.run();
  },
  stop: async (): Promise<void> => {
    isStopped = current === undefined;
    current?.stop();
  },
  standing: async (material: number): Promise<Standing> => current?.standing(material) ?? { acknowledged: 0, open: 0 },
});
tell({ type: 'ready' });
