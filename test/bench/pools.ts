import type { BenchContext } from './context.js';
import { designs } from './designs.js';
import { measureThroughput } from './measure-round.js';
import { scenarios } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';
import type { RunningDesign } from './stack.js';

/** Throughput of each size of a pool that was tried, in requests a second. */
export interface Sweep {
  scenario: ScenarioName;
  design: string;
  byPool: Record<string, number>;
}

/** Puts designs at the size of their pool that is best for a scenario: no baseline is to lose by a setting. */
export interface Pools {
  use(design: RunningDesign, scenario: ScenarioName): Promise<void>;
  sweeps(): Sweep[];
}

/** The seed of a sweep; rounds have theirs by their number, the same for every design. */
const sweepSeed = 1_000;

/** A request of 100 row transactions takes seconds. */
const batchSweepMs = 4_000;

export function createPools(context: BenchContext): Pools {
  const best = new Map<string, number>();
  const sweeps: Sweep[] = [];
  return {
    async use(design, scenario) {
      const { pools } = designs[design.name];
      const [smallest] = pools;
      if (smallest === undefined) return;
      // One client never uses a second connection.
      if (scenarios[scenario].connections === 1) return design.setPool(smallest);
      const name = `${scenario} ${design.name}`;
      let size = best.get(name);
      if (size === undefined) {
        const { sweep, bestSize } = await sweepPools(context, design, scenario);
        sweeps.push(sweep);
        best.set(name, (size = bestSize));
      }
      if (design.pool !== size) await design.setPool(size);
    },
    sweeps: () => sweeps,
  };
}

async function sweepPools(
  { stack, options, say }: BenchContext,
  design: RunningDesign,
  scenario: ScenarioName,
): Promise<{ sweep: Sweep; bestSize: number }> {
  const { symbol, pools } = designs[design.name];
  const byPool: Record<string, number> = {};
  const measureMs = sweepMs(design, scenario, options.sweepMs);
  const { connections } = scenarios[scenario];
  let best = { size: 0, throughput: -1 };
  for (const size of pools) {
    await design.setPool(size);
    const throughput = await measureThroughput(stack, design, {
      scenario,
      load: { loop: 'closed', connections },
      seed: sweepSeed,
      warmupMs: measureMs / 3,
      measureMs,
    });
    byPool[size] = Math.round(throughput);
    if (throughput > best.throughput) best = { size, throughput };
  }
  const tried = Object.entries(byPool).map(([size, throughput]) => `${size}: ${throughput}`);
  say(`  ${symbol} with a pool of ${best.size} (requests/s by pool: ${tried.join(', ')})`);
  return { sweep: { scenario, design: design.name, byPool }, bestSize: best.size };
}

export function sweepMs({ name }: Pick<RunningDesign, 'name'>, scenario: ScenarioName, askedMs: number): number {
  return scenario === 'BATCH' && name === 'd1Prime' ? Math.max(askedMs, batchSweepMs) : askedMs;
}
