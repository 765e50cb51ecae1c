import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { measureRound } from '../measure-round.js';
import { median } from '../median.js';
import { memoryMib } from '../process-times.js';
import type { Round, RoundPlan } from '../round.js';
import { roundText } from '../round-text.js';
import type { ScenarioName } from '../scenarios.js';
import { matrixOf } from './matrix.js';

export interface OverloadSeen {
  scenario: ScenarioName;
  connectionsMax: number;
  /** The better of the closed loops with 64 and with 256 connections, each by its median. */
  peak: number;
  /** Those rounds. */
  peakRounds: Round[];
  /** In turn with the closed loops, because a machine's speed changes within minutes. */
  rounds: Round[];
  /** Full successes under overload over the peak (must: ≥ 0.9), by the medians. */
  goodput: number;
  /** MiB each second, from the warm-up on, of all rounds. */
  apiMib: number[];
  workerMib: number[];
}

const factor = 5;
/** As many as the API holds at once, and so many that it must refuse. */
const connectionsMax = [1_200, 2_400];
const peakConnections = [64, 256];
const windowMsMin = 10_000;
const sampleEveryMs = 1_000;

/** Five times what it can do, by arrivals that do not wait: what is still done, and how soon the rest is refused. */
export async function runOverload(context: BenchContext): Promise<OverloadSeen[]> {
  const all: OverloadSeen[] = [];
  for (const scenario of matrixOf(context.options.scenarios)) {
    context.say(`${scenario}, overload`);
    const peaks = peakConnections.map((): Round[] => []);
    const peakOf = () => Math.max(...peaks.map((rounds) => median(rounds.map(doneASecond))));
    const loads = connectionsMax.map((connections) => ({ connections, measured: [] as Measured[] }));
    for (let seed = 1; seed <= context.options.rounds; seed += 1) {
      for (const [index, connections] of peakConnections.entries())
        peaks[index]?.push(await measurePeak(context, { scenario, connections, seed }));
      const rate = Math.round(peakOf() * factor);
      for (const { connections, measured } of loads)
        measured.push(await measureOverload(context, { scenario, connections, seed, rate }));
    }
    const peak = peakOf();
    for (const { connections, measured } of loads) {
      const rounds = measured.map(({ round }) => round);
      all.push({
        scenario,
        connectionsMax: connections,
        peak,
        peakRounds: peaks.flat(),
        rounds,
        goodput: median(rounds.map(doneASecond)) / peak,
        apiMib: measured.flatMap(({ apiMib }) => apiMib),
        workerMib: measured.flatMap(({ workerMib }) => workerMib),
      });
    }
  }
  return all;
}

interface Window {
  scenario: ScenarioName;
  connections: number;
  seed: number;
}

async function measurePeak(context: BenchContext, { scenario, connections, seed }: Window): Promise<Round> {
  const { warmupMs, measureMs } = context.options;
  const load = { loop: 'closed' as const, connections };
  const round = await measureRound(context.stack, oursOf(context), { scenario, load, seed, warmupMs, measureMs });
  context.say(`  ${connections} connections ${roundText(round)}`);
  return round;
}

const doneASecond = ({ requestsASecond }: Round) => requestsASecond;

type Measured = Awaited<ReturnType<typeof measureWithMemory>>;

async function measureOverload(
  context: BenchContext,
  { scenario, connections, seed, rate }: Window & { rate: number },
): Promise<Measured> {
  const { warmupMs } = context.options;
  const measureMs = Math.max(context.options.measureMs, windowMsMin);
  const load = { loop: 'open' as const, rate, connectionsMax: connections };
  const measured = await measureWithMemory(context, { scenario, load, seed, warmupMs, measureMs });
  const { round } = measured;
  context.say(`  ${rate} due/s over ${connections} connections ${roundText(round)}${p99OfRefusals(round)}`);
  return measured;
}

function p99OfRefusals({ refusals: { count, p99Ms } }: Round): string {
  return count === 0 ? '' : `, refusals p99 ${p99Ms.toFixed(1)} ms`;
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
