import type { BenchContext } from '../context.js';
import { failureProblems } from '../failures.js';
import { measureRound } from '../measure-round.js';
import { median } from '../median.js';
import type { Pools } from '../pools.js';
import type { Round } from '../round.js';
import { roundText } from '../round-text.js';
import { scenarios } from '../scenarios.js';
import type { ScenarioName } from '../scenarios.js';
import type { RunningDesign } from '../stack.js';
import { matrixOf } from './matrix.js';
import { designsOf } from './rounds.js';

/** Parts of what a design could do at most. Closer to it a line forms in any case. */
export const openFractions = [0.25, 0.5, 0.75, 0.9];
const connectionsMax = 256;

/**
 * Latency against load, by arrivals at a fixed rate: a closed loop asks less of a slow service, and so hides its queue.
 */
export async function runOpenLoop(context: BenchContext, pools: Pools, measured: readonly Round[]): Promise<Round[]> {
  const { stack, options, say } = context;
  const rounds: Round[] = [];
  for (const scenario of matrixOf(options.scenarios)) {
    const running = designsOf(context, scenario).filter(({ name }) => name === 'ours' || name === 'dPrime');
    for (const design of running) {
      await pools.use(design, scenario);
      const { capacity, problems } = await capacityOf(context, design, scenario, measured);
      say(`${scenario}, open loop against ${Math.round(capacity)}/s`);
      for (const fraction of openFractions) {
        const load = { loop: 'open' as const, rate: Math.max(1, Math.round(capacity * fraction)), connectionsMax };
        const { warmupMs, measureMs } = options;
        const round = await measureRound(stack, design, { scenario, load, seed: 1, warmupMs, measureMs });
        round.problems.push(...problems.splice(0));
        rounds.push(round);
        say(`  ${Math.round(fraction * 100)} % ${roundText(round)}`);
      }
    }
  }
  return rounds;
}

export interface Capacity {
  /** Full successes a second in a closed loop. */
  capacity: number;
  /** What was wrong in the round that was measured for it. */
  problems: string[];
}

/** Of the rounds that were measured, else of one now. */
export async function capacityOf(
  { stack, options }: BenchContext,
  design: RunningDesign,
  scenario: ScenarioName,
  measured: readonly Round[] = [],
): Promise<Capacity> {
  const own = measured.filter((round) => round.design === design.name && round.scenario === scenario);
  if (own.length > 0) return { capacity: median(own.map(({ requestsASecond }) => requestsASecond)), problems: [] };
  const { connections } = scenarios[scenario];
  const { warmupMs, measureMs } = options;
  const load = { loop: 'closed' as const, connections };
  const round = await measureRound(stack, design, { scenario, load, seed: 1, warmupMs, measureMs });
  const failed = failureProblems(`${scenario}, while the capacity was measured`, round.failures);
  return { capacity: round.requestsASecond, problems: [...round.problems, ...failed] };
}
