import type { BenchContext } from '../context.js';
import { lookAtRedis, measureRound } from '../measure-round.js';
import type { Pools } from '../pools.js';
import type { RedisSeen } from '../redis-watch.js';
import { rotated } from '../rotated.js';
import type { Round, RoundLoad } from '../round.js';
import { roundText } from '../round-text.js';
import { scenarios, windowMs } from '../scenarios.js';
import type { ScenarioName } from '../scenarios.js';
import type { RunningDesign } from '../stack.js';

export interface RoundsSeen {
  rounds: Round[];
  /** After each round of ours. */
  redis: (RedisSeen & { scenario: ScenarioName })[];
}

/**
 * All scenarios, one after the other; in each the designs take turns (A B A B), so that a slow minute hits all alike.
 */
export async function runRounds(context: BenchContext, pools: Pools): Promise<RoundsSeen> {
  const { stack, options, say } = context;
  const seen: RoundsSeen = { rounds: [], redis: [] };
  for (const scenario of options.scenarios) {
    say(`${scenario}: ${scenarios[scenario].title}`);
    const running = designsOf(context, scenario);
    const [asked, ...more] = options.connections;
    const own = scenarios[scenario].connections;
    const connections = more.length === 0 && own !== 1 ? (asked ?? own) : own;
    const rounds = await takeTurns(
      context,
      pools,
      { scenario, load: { loop: 'closed', connections } },
      running,
      options.rounds,
      async (round) => {
        if (round.design === 'ours') seen.redis.push({ scenario, ...(await lookAtRedis(stack)) });
      },
    );
    seen.rounds.push(...rounds);
  }
  return seen;
}

export function designsOf({ stack }: BenchContext, scenario: ScenarioName): RunningDesign[] {
  return scenarios[scenario].designs.flatMap((name) => stack.designs.get(name) ?? []);
}

/** Rounds of some designs under one load, in turn; each design at its best pool. */
export async function takeTurns(
  { stack, options, say }: BenchContext,
  pools: Pools,
  { scenario, load }: { scenario: ScenarioName; load: RoundLoad },
  running: readonly RunningDesign[],
  times: number,
  onRound: (round: Round) => Promise<void> = async () => undefined,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const design of running) await pools.use(design, scenario);
  for (let number = 1; number <= times; number += 1) {
    for (const design of rotated(running, number)) {
      const measureMs = windowMs(scenario, design.name, options.measureMs);
      const round = await measureRound(stack, design, {
        scenario,
        load,
        seed: number,
        warmupMs: options.warmupMs,
        measureMs,
      });
      rounds.push(round);
      await onRound(round);
      say(`  ${number}/${times} ${roundText(round)}`);
    }
  }
  return rounds;
}
