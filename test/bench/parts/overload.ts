import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { measureRound } from '../measure-round.js';
import { memoryMib } from '../process-times.js';
import type { Round } from '../round.js';
import { roundText } from '../round-text.js';
import type { ScenarioName } from '../scenarios.js';
import { matrixOf } from './matrix.js';

export interface OverloadSeen {
  scenario: ScenarioName;
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
const connectionsMax = 1_200;
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
    const [apiMib, workerMib]: [number[], number[]] = [[], []];
    const sampling = setInterval(() => {
      apiMib.push(sum(ours.pids.api));
      workerMib.push(sum(ours.pids.worker));
    }, sampleEveryMs);
    const load = { loop: 'open' as const, rate: Math.round(peak * factor), connectionsMax };
    const plan = { scenario, load, seed: 1, warmupMs, measureMs };
    const round = await measureRound(stack, ours, plan).finally(() => clearInterval(sampling));
    say(`  ${load.rate} due/s ${roundText(round)}, refusals p99 ${round.refusals.p99Ms.toFixed(1)} ms`);
    all.push({ scenario, peak, round, goodput: round.requestsASecond / peak, apiMib, workerMib });
  }
  return all;
}

function sum(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + (memoryMib(pid) ?? 0), 0);
}
