import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { measureRound } from '../measure-round.js';
import { memoryMib } from '../process-times.js';
import type { Round, RoundPlan } from '../round.js';
import { roundText } from '../round-text.js';
import type { ScenarioName } from '../scenarios.js';
import { matrixOf } from './matrix.js';

export interface OverloadSeen {
  scenario: ScenarioName;
  connectionsMax: number;
  /** The best of the closed loops with 64 and with 256 connections. */
  peak: number;
  round: Round;
  /** Full successes under overload over the peak (must: ≥ 0.9). */
  goodput: number;
  /** MiB each second, from the warm-up on. */
  apiMib: number[];
  workerMib: number[];
}

const factor = 5;
/** As many as the API holds at once, and so many that it must refuse. */
const connectionsMax = [1_200, 2_400];
const windowMsMin = 10_000;
const sampleEveryMs = 1_000;

/** Five times what it can do, by arrivals that do not wait: what is still done, and how soon the rest is told so. */
export async function runOverload(context: BenchContext): Promise<OverloadSeen[]> {
  const { stack, options, say } = context;
  const ours = oursOf(context);
  const all: OverloadSeen[] = [];
  for (const scenario of matrixOf(options.scenarios)) {
    const { warmupMs } = options;
    const measureMs = Math.max(options.measureMs, windowMsMin);
    say(`${scenario}, overload`);
    let peak = 0;
    for (const connections of [64, 256]) {
      const load = { loop: 'closed' as const, connections };
      const round = await measureRound(stack, ours, {
        scenario,
        load,
        seed: 1,
        warmupMs,
        measureMs: options.measureMs,
      });
      say(`  ${connections} connections ${roundText(round)}`);
      peak = Math.max(peak, round.requestsASecond);
    }
    for (const connections of connectionsMax) {
      const load = { loop: 'open' as const, rate: Math.round(peak * factor), connectionsMax: connections };
      const plan = { scenario, load, seed: 1, warmupMs, measureMs };
      const { round, apiMib, workerMib } = await measureWithMemory(context, plan);
      say(`  ${load.rate} due/s ${roundText(round)}, refusals p99 ${round.refusals.p99Ms.toFixed(1)} ms`);
      const goodput = round.requestsASecond / peak;
      all.push({ scenario, connectionsMax: connections, peak, round, goodput, apiMib, workerMib });
    }
  }
  return all;
}

async function measureWithMemory(context: BenchContext, plan: RoundPlan) {
  const ours = oursOf(context);
  const [apiMib, workerMib]: [number[], number[]] = [[], []];
  const sampling = setInterval(() => {
    apiMib.push(sum(ours.pids.api));
    workerMib.push(sum(ours.pids.worker));
  }, sampleEveryMs);
  const round = await measureRound(context.stack, ours, plan).finally(() => clearInterval(sampling));
  return { round, apiMib, workerMib };
}

function sum(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + (memoryMib(pid) ?? 0), 0);
}
