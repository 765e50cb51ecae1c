import type { BenchContext } from './context.js';
import { designs } from './designs.js';
import type { DesignName } from './designs.js';
import { failureProblems, sumOfFailures } from './failures.js';
import type { Failures } from './failures.js';
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

/**
 * How many windows a design without a pool is under load before its rounds: about as many as the others are while their
 * sizes are tried. Otherwise it alone would begin its rounds with code that V8 has not compiled yet.
 */
const warmUpWindows = 5;
/** The same for processes that were started since: some ten thousand requests. */
export const newWindows = 2;

/** Gives each design the size of pool that is best for a scenario: no baseline is to lose by a setting. */
export interface Pools {
  use(design: RunningDesign, scenario: ScenarioName): Promise<void>;
  sweeps(): Sweep[];
  /** Answers that failed while sizes were tried, or processes warmed up. */
  problems(): string[];
}

/** The seed of a sweep; rounds have theirs by their number, the same for every design. */
const sweepSeed = 1_000;

/** A request of 100 row transactions takes seconds. */
const batchSweepMs = 4_000;

export function createPools(context: BenchContext): Pools {
  const best = new Map<string, number>();
  const warm = new Set<string>();
  const sweeps: Sweep[] = [];
  const problems: string[] = [];
  return {
    async use(design, scenario) {
      const { pools } = designs[design.name];
      const [smallest] = pools;
      const name = `${scenario} ${design.name}`;
      // One client never uses a second connection.
      const isTried = scenarios[scenario].connections !== 1;
      if (smallest === undefined) {
        const processes = [...design.pids.api, ...design.pids.worker].join();
        const isCold = !warm.has(name) || !warm.has(processes);
        const windows = warm.has(name) ? newWindows : warmUpWindows;
        if (isTried && isCold) problems.push(...(await warmUp(context, design, scenario, windows)));
        warm.add(name).add(processes);
        return;
      }
      if (!isTried) return design.setPool(smallest);
      let size = best.get(name);
      if (size === undefined) {
        const { sweep, bestSize, failures } = await sweepPools(context, design, scenario);
        sweeps.push(sweep);
        problems.push(...failureProblems(`${name}, while its pools were tried`, sumOfFailures(failures)));
        best.set(name, (size = bestSize));
      }
      if (design.pool !== size) await design.setPool(size);
    },
    sweeps: () => sweeps,
    problems: () => problems,
  };
}

/**
 * Full load, before anything is measured.
 *
 * @param windows how many that is; each is as long as a size of a pool is tried
 * @returns what failed
 */
export async function warmUp(
  { stack, options }: BenchContext,
  design: RunningDesign,
  scenario: ScenarioName,
  windows = newWindows,
): Promise<string[]> {
  const { connections } = scenarios[scenario];
  const ms = windows * options.sweepMs;
  const load = { loop: 'closed' as const, connections };
  const plan = { scenario, load, seed: sweepSeed, warmupMs: ms / 3, measureMs: ms };
  const { failures } = await measureThroughput(stack, design, plan);
  return failureProblems(`${scenario} ${design.name}, while it was warmed up`, failures);
}

async function sweepPools(
  { stack, options, say }: BenchContext,
  design: RunningDesign,
  scenario: ScenarioName,
): Promise<{ sweep: Sweep; bestSize: number; failures: Failures[] }> {
  const { symbol, pools } = designs[design.name];
  const byPool: Record<string, number> = {};
  const measureMs = sweepMs(design, scenario, options.sweepMs);
  const { connections } = scenarios[scenario];
  let best = { size: 0, throughput: -1 };
  const failures: Failures[] = [];
  for (const size of pools) {
    await design.setPool(size);
    const { requestsASecond: throughput, failures: own } = await measureThroughput(stack, design, {
      scenario,
      load: { loop: 'closed', connections },
      seed: sweepSeed,
      warmupMs: measureMs / 3,
      measureMs,
    });
    failures.push(own);
    byPool[size] = Math.round(throughput);
    if (throughput > best.throughput) best = { size, throughput };
  }
  const tried = Object.entries(byPool).map(([size, throughput]) => `${size}: ${throughput}`);
  say(`  ${symbol} with a pool of ${best.size} (requests/s by pool: ${tried.join(', ')})`);
  return { sweep: { scenario, design: design.name, byPool }, bestSize: best.size, failures };
}

/** How many windows a design is under load before the rounds of a scenario. */
export function windowsBefore(design: DesignName, scenario: ScenarioName): number {
  const { pools } = designs[design];
  if (scenarios[scenario].connections === 1) return 0;
  return pools.length === 0 ? warmUpWindows : pools.length;
}

export function sweepMs({ name }: Pick<RunningDesign, 'name'>, scenario: ScenarioName, askedMs: number): number {
  return scenario === 'BATCH' && name === 'd1Prime' ? Math.max(askedMs, batchSweepMs) : askedMs;
}
