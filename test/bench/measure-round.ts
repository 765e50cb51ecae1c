import { setTimeout as delay } from 'node:timers/promises';
import type { BenchCatalogue } from './catalogue.js';
import { checkpoint } from './bench-database.js';
import { designs } from './designs.js';
import { failuresOf } from './failures.js';
import type { Failures } from './failures.js';
import { gainsOf } from '../load/gains.js';
import type { Generators } from '../load/generators.js';
import type { LoadOrder } from '../load/generator/load-run.js';
import { summariseLoad } from '../load/load-summary.js';
import type { LoadSummary } from '../load/load-summary.js';
import type { Scenario } from '../load/scenario.js';
import type { Stage } from '../load/stage.js';
import type { LevelCheck } from './level-check.js';
import { foreignMs, forgetPeakMemory, peakMemoryMib, readCpuTimes, spentBetween } from './process-times.js';
import type { CpuTimes, ProcessRole } from './process-times.js';
import type { Round, RoundLoad, RoundPlan } from './round.js';
import { scenarios } from './scenarios.js';
import type { RunningDesign, Stack } from './stack.js';

/** A request of BATCH to d1′ takes seconds, and one that is in flight when the window ends is waited for. */
const drainMsMax = 30_000;
const answerMsMax = 30_000;
const requestsMax = 100_000_000;
/** The worker finishes its jobs after it has replied; Redis is looked at once that is over. */
const finishMsMax = 1_000;
const finishPollMs = 20;

/** Runs a window of load against a design, reads every counter at its two ends, and holds its database to account. */
export async function measureRound(stack: Stack, design: RunningDesign, plan: RoundPlan): Promise<Round> {
  await checkpoint(stack.postgresUrl);
  const pids = [...design.pids.api, ...design.pids.worker];
  pids.forEach(forgetPeakMemory);
  const { summary, cpu } = await loadDesign(stack, design, plan);
  const [, window] = summary.stages;
  if (window === undefined) throw new Error('a round without a window');
  return {
    design: design.name,
    scenario: plan.scenario,
    load: plan.load,
    pool: design.pool,
    workers: design.pids.worker.length,
    measuredMs: window.ms,
    requestsASecond: window.requestsASecond,
    rowsASecond: window.rowsASecond,
    latency: window.latency,
    refusals: window.refusals,
    percentiles: summary.percentiles,
    failures: failuresOf(summary),
    neverSent: summary.neverSent,
    withoutRetryAfter: summary.withoutRetryAfter,
    cpuMsARequest: cpu && perRequest(cpu, window.answered),
    peakMib: peaksOf(design),
    foreignCores: cpu && foreignMs(cpu) / window.ms,
    problems: await design.check.problems({ withLedger: false }),
  };
}

export interface Throughput {
  requestsASecond: number;
  failures: Failures;
}

/** A short window, just to compare sizes of a pool; its acknowledgements count in the next check. */
export async function measureThroughput(stack: Stack, design: RunningDesign, plan: RoundPlan): Promise<Throughput> {
  const { summary } = await loadDesign(stack, design, plan);
  return { requestsASecond: summary.total.requestsASecond, failures: failuresOf(summary) };
}

/** Whether every design that writes the ledger wrote it right. */
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
  /** CPU milliseconds of the generator for a request, which say what it could do at most with a core of its own. */
  generatorMsARequest: number | undefined;
}

/** What generator and HTTP stack do without limiter, database and queue: no design's figure can be above it. */
export async function measureCeiling(stack: Stack, design: RunningDesign, measureMs: number): Promise<Ceiling> {
  const health: Scenario = { title: 'the HTTP stack alone', pick: 'first', mix: [{ ask: 'health', weight: 1 }] };
  const { connections } = scenarios.HOT;
  const { summary, cpu } = await runLoad(stack.generators, {
    design,
    scenario: health,
    catalogue: stack.catalogue,
    load: { loop: 'closed', connections },
    seed: 1,
    warmupMs: measureMs / 2,
    measureMs,
  });
  return {
    requestsASecond: summary.total.requestsASecond,
    generatorMsARequest: cpu && perRequest(cpu, summary.total.answered).generator,
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

function loadDesign(stack: Stack, design: RunningDesign, plan: RoundPlan): Promise<Loaded> {
  const scenario = scenarios[plan.scenario].load;
  const { catalogue, generators } = stack;
  return runLoad(generators, { ...plan, design, scenario, catalogue, check: design.check });
}

export interface LoadWish {
  design: RunningDesign;
  scenario: Scenario;
  catalogue: BenchCatalogue;
  load: RoundLoad;
  seed: number;
  warmupMs: number;
  measureMs: number;
  /** Learns what was acknowledged. */
  check?: Pick<LevelCheck, 'acknowledge'>;
}

export interface Loaded {
  summary: LoadSummary;
  /** Spent within the window. */
  cpu: CpuTimes | undefined;
}

/**
 * A warm-up and a window of load.
 *
 * @throws where the design cannot be reached, with its last lines
 */
export async function runLoad(generators: Generators, wish: LoadWish): Promise<Loaded> {
  const { design, scenario, catalogue, load, seed } = wish;
  const level = load.loop === 'closed' ? load.connections : load.rate;
  const stage = (ms: number, isWarmup: boolean): Stage => ({ ms, from: level, to: level, isWarmup });
  const order: LoadOrder = {
    target: { host: '127.0.0.1', port: design.port, isTls: false },
    loop: load.loop,
    connectionsMax: load.loop === 'closed' ? load.connections : load.connectionsMax,
    stages: [stage(wish.warmupMs, true), stage(wish.measureMs, false)],
    firstDue: 0,
    requestsMax,
    answerMsMax,
    drainMsMax,
    sliceMs: wish.measureMs / 10,
  };
  const plan = { scenario, catalogue, authority: '127.0.0.1', basePath: '/v1', seed };
  const readings: (CpuTimes | undefined)[] = [];
  const onStage = (index: number) => {
    if (index > 0) readings.push(readCpuTimes(design.pids));
  };
  try {
    const results = await generators.run(order, plan, { onStage });
    const summary = summariseLoad(results);
    wish.check?.acknowledge(gainsOf(results, scenario));
    const [before, after] = readings;
    return { summary, cpu: before && after && spentBetween(before, after) };
  } catch (error) {
    throw new Error(`${design.name}: ${(error as Error).message}; it said:\n${design.logs().join('\n')}`, {
      cause: error,
    });
  }
}

function peaksOf({ pids }: RunningDesign): Round['peakMib'] {
  const most = (of: readonly number[]) => Math.max(0, ...of.map((pid) => peakMemoryMib(pid) ?? NaN));
  const peaks = { api: most(pids.api), worker: most(pids.worker) };
  return Number.isNaN(peaks.api) ? undefined : peaks;
}

function perRequest(cpu: CpuTimes, answered: number): Record<ProcessRole, number> {
  const { machine: _, ...roles } = cpu;
  return Object.fromEntries(Object.entries(roles).map(([role, ms]) => [role, ms / Math.max(1, answered)])) as Record<
    ProcessRole,
    number
  >;
}
