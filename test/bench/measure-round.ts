import { setTimeout as delay } from 'node:timers/promises';
import { checkpoint } from './bench-database.js';
import { designs } from './designs.js';
import type { DesignName } from './designs.js';
import type { LatencySummary } from './generator/latencies.js';
import type { LoadCall } from './generator/main.js';
import type { LoadResult } from './generator/closed-loop.js';
import { foreignMs, readCpuTimes, spentBetween } from './process-times.js';
import type { CpuTimes, ProcessRole } from './process-times.js';
import { scenarios } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';
import type { RunningDesign, Stack } from './stack.js';

export interface RoundPlan {
  scenario: ScenarioName;
  seed: number;
  warmupMs: number;
  measureMs: number;
}

export interface Round {
  design: DesignName;
  scenario: ScenarioName;
  pool: number | undefined;
  measuredMs: number;
  requestsASecond: number;
  rowsASecond: number;
  latency: LatencySummary;
  /** Answers other than full successes, by status. */
  failures: Record<string, number>;
  /** CPU milliseconds of each kind of process for a request; undefined where the system does not tell. */
  cpuMsARequest: Record<ProcessRole, number> | undefined;
  /** The part of the machine that others used meanwhile, 0 to 1 of one core. */
  foreignCores: number | undefined;
  /** What its database and its acknowledgements disagree about. */
  problems: string[];
}

/** A request of BATCH to d takes seconds, and one that is in flight when the window ends is waited for. */
const drainMsMax = 30_000;
/** The worker finishes its jobs after it has replied; Redis is looked at once that is over. */
const finishMsMax = 1_000;
const finishPollMs = 20;

/** Runs a window of load against a design, reads every counter at its two ends, and holds its database to account. */
export async function measureRound(stack: Stack, design: RunningDesign, plan: RoundPlan): Promise<Round> {
  await checkpoint(stack.postgresUrl);
  const { connections, rows } = scenarios[plan.scenario];
  const call: LoadCall = { ...plan, port: design.port, connections, drainMsMax };
  const { result, cpu } = await runLoad(stack, design, call);
  design.check.acknowledge(result.acknowledged, rows);
  const requestsASecond = (result.answered * 1_000) / result.measuredMs;
  const withLedger = design.name === 'ours';
  return {
    design: design.name,
    scenario: plan.scenario,
    pool: design.pool,
    measuredMs: result.measuredMs,
    requestsASecond,
    rowsASecond: requestsASecond * rows,
    latency: result.latency,
    failures: result.failures,
    cpuMsARequest: cpu && perRequest(cpu, result.answered),
    foreignCores: cpu && foreignMs(cpu) / result.measuredMs,
    problems: await design.check.problems({ withLedger }),
  };
}

/** A short window, just to compare sizes of a pool; its acknowledgements count in the next check. */
export async function measureThroughput(stack: Stack, design: RunningDesign, plan: RoundPlan): Promise<number> {
  const { connections, rows } = scenarios[plan.scenario];
  const { result } = await runLoad(stack, design, { ...plan, port: design.port, connections, drainMsMax });
  design.check.acknowledge(result.acknowledged, rows);
  return (result.answered * 1_000) / result.measuredMs;
}

/** Whether every design that writes the ledger wrote it right; `ours` is asked after each round already. */
export async function checkLedgers(stack: Stack): Promise<string[]> {
  const problems: string[] = [];
  for (const design of stack.designs.values()) {
    const withLedger = designs[design.name].hasLedger;
    problems.push(...(await design.check.problems({ withLedger })).map((problem) => `${design.name}: ${problem}`));
  }
  return problems;
}

export interface Ceiling {
  requestsASecond: number;
  /** CPU milliseconds of the generator for a request: what it could do at most with a core of its own follows. */
  generatorMsARequest: number | undefined;
}

/** What generator and HTTP stack do without limiter, database and queue: no design's figure can be above it. */
export async function measureCeiling(stack: Stack, design: RunningDesign, measureMs: number): Promise<Ceiling> {
  const { connections } = scenarios.HOT;
  const call: LoadCall = {
    scenario: 'health',
    seed: 1,
    port: design.port,
    connections,
    warmupMs: measureMs / 2,
    measureMs,
    drainMsMax,
  };
  const { result, cpu } = await runLoad(stack, design, call);
  return {
    requestsASecond: (result.answered * 1_000) / result.measuredMs,
    generatorMsARequest: cpu && perRequest(cpu, result.answered).generator,
  };
}

/** @returns how many keys of materials stand in Redis when all is answered and finished, and the connections */
export async function lookAtRedis({ redis }: Stack) {
  const deadline = performance.now() + finishMsMax;
  for (;;) {
    const seen = await redis.look();
    if (seen.materialKeys === 0 || performance.now() > deadline) return seen;
    await delay(finishPollMs);
  }
}

async function runLoad(
  { generator }: Stack,
  design: RunningDesign,
  call: LoadCall,
): Promise<{ result: LoadResult; cpu: CpuTimes | undefined }> {
  const readings: (CpuTimes | undefined)[] = [];
  const msMax = call.warmupMs + call.measureMs + 2 * drainMsMax;
  try {
    const result = await generator.call<LoadResult>('run', call, msMax, () => readings.push(readCpuTimes(design.pids)));
    const [before, after] = readings;
    return { result, cpu: before && after && spentBetween(before, after) };
  } catch (error) {
    throw new Error(`${design.name}: ${(error as Error).message}; it said:\n${design.logs().join('\n')}`, {
      cause: error,
    });
  }
}

function perRequest(cpu: CpuTimes, answered: number): Record<ProcessRole, number> {
  const { machine: _, ...roles } = cpu;
  return Object.fromEntries(Object.entries(roles).map(([role, ms]) => [role, ms / Math.max(1, answered)])) as Record<
    ProcessRole,
    number
  >;
}
