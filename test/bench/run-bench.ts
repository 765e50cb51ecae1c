import { designs } from './designs.js';
import { lookAtRedis, measureRound, measureThroughput } from './measure-round.js';
import type { Round } from './measure-round.js';
import type { BenchOptions } from './options.js';
import type { RedisSeen } from './redis-watch.js';
import { scenarios } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';
import type { RunningDesign, Stack } from './stack.js';

export interface BenchRun {
  rounds: Round[];
  /** Throughput of each size of a pool that was tried, in requests a second. */
  sweeps: { scenario: ScenarioName; design: string; byPool: Record<string, number> }[];
  /** After each round of ours. */
  redis: (RedisSeen & { scenario: ScenarioName })[];
}

/** The seed of a sweep; rounds have theirs by their number, the same for every design. */
const sweepSeed = 1_000;

/** A size of a pool is tried for this part of the shortest window that says something. */
const sweepsAWindow = 4;

/** All scenarios, one after the other; in each the designs take turns (A B A B), so that a slow minute hits all alike. */
export async function runBench(stack: Stack, options: BenchOptions, say: (line: string) => void): Promise<BenchRun> {
  const run: BenchRun = { rounds: [], sweeps: [], redis: [] };
  for (const scenario of options.scenarios) {
    const running = scenarios[scenario].designs.flatMap((name) => stack.designs.get(name) ?? []);
    say(`${scenario}: ${scenarios[scenario].title}`);
    for (const design of running) {
      if (designs[design.name].pools.length > 0)
        run.sweeps.push(await choosePool(stack, design, scenario, options, say));
    }
    const measureMs = Math.max(options.measureMs, scenarios[scenario].measureMsMin);
    for (let number = 1; number <= options.rounds; number += 1) {
      for (const design of rotated(running, number)) {
        const plan = { scenario, seed: number, warmupMs: options.warmupMs, measureMs };
        const round = await measureRound(stack, design, plan);
        run.rounds.push(round);
        if (design.name === 'ours') run.redis.push({ scenario, ...(await lookAtRedis(stack)) });
        say(`  ${number}/${options.rounds} ${roundText(round)}`);
      }
    }
  }
  return run;
}

/** Each round begins with another design, so that none always follows the same one. */
function rotated<T>(all: readonly T[], by: number): T[] {
  const start = by % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}

/** Leaves the design at the size of its pool that is best for this scenario: no baseline is to lose by a setting. */
async function choosePool(
  stack: Stack,
  design: RunningDesign,
  scenario: ScenarioName,
  { sweepMs }: BenchOptions,
  say: (line: string) => void,
): Promise<BenchRun['sweeps'][number]> {
  const { symbol, pools } = designs[design.name];
  const byPool: Record<string, number> = {};
  const tryMs = Math.max(sweepMs, scenarios[scenario].measureMsMin / sweepsAWindow);
  let best = { size: 0, throughput: -1 };
  // One client never uses a second connection.
  const sizes = scenarios[scenario].connections === 1 ? pools.slice(0, 1) : pools;
  for (const size of sizes) {
    await design.setPool(size);
    if (sizes.length === 1) break;
    const plan = { scenario, seed: sweepSeed, warmupMs: tryMs / 3, measureMs: tryMs };
    const throughput = await measureThroughput(stack, design, plan);
    byPool[size] = Math.round(throughput);
    if (throughput > best.throughput) best = { size, throughput };
  }
  if (sizes.length > 1) {
    await design.setPool(best.size);
    const tried = Object.entries(byPool).map(([size, throughput]) => `${size}: ${throughput}`);
    say(`  ${symbol} with a pool of ${best.size} (requests/s by pool: ${tried.join(', ')})`);
  }
  return { scenario, design: design.name, byPool };
}

function roundText({ design, requestsASecond, latency, foreignCores, failures, problems }: Round): string {
  const parts = [
    `${designs[design].symbol.padEnd(4)} ${String(Math.round(requestsASecond)).padStart(6)} requests/s`,
    `p50 ${latency.p50Ms.toFixed(2)} ms`,
    `p99 ${latency.p99Ms.toFixed(2)} ms`,
  ];
  if (foreignCores !== undefined) parts.push(`others ${foreignCores.toFixed(2)} cores`);
  for (const [status, count] of Object.entries(failures)) parts.push(`${count} × ${status}`);
  return [parts.join(', '), ...problems.map((problem) => `    WRONG: ${problem}`)].join('\n');
}
