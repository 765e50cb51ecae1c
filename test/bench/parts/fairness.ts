import { availableParallelism, constants, setPriority } from 'node:os';
import type { LatencySummary } from '../../load/histogram.js';
import { namedScenarios } from '../../load/scenario.js';
import type { LoadFigures } from '../../load/load-summary.js';
import type { Generators } from '../../load/generators.js';
import { addShopTo, checkpoint } from '../bench-database.js';
import { startBusyPrograms } from '../busy-programs.js';
import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { exceptRefusals, failureProblems, failuresOf, sumOfFailures } from '../failures.js';
import type { Failures } from '../failures.js';
import { createLevelCheck } from '../level-check.js';
import { runLoad } from '../measure-round.js';
import { median } from '../median.js';
import { capacityOf } from './open-loop.js';

export interface FairnessSeen {
  capacity: number;
  quietRate: number;
  floodRate: number;
  /** The quiet shop, a round each, in turn. */
  alone: LatencySummary[];
  /** Beside programs that only keep every core busy: how much of the wait is the machine's, and no queue's. */
  besideBusy: LatencySummary[];
  beside: LatencySummary[];
  flood: FloodFigures[];
  /**
   * Beside the same flood, whose generator has the cores only while nobody else wants them: clients on other machines
   * take none of the service's.
   */
  besideYielding: LatencySummary[];
  yieldingFlood: FloodFigures[];
  /** The median of the p99 beside the flood over the one alone (must: ≤ 2). */
  p99Ratio: number;
  /** Requests of the quiet shop, in all rounds, that found no connection free until the end: no latency has them. */
  quietNeverSent: number;
  problems: string[];
}

type FloodFigures = Pick<LoadFigures, 'requestsASecond' | 'latency' | 'refusals' | 'statuses'>;

const materials = 1_000;
/** Of the fair share: the quiet shop stays well within its own, the other asks ten times as much. */
const quietPart = 0.25;
const floodPart = 10;
const quietConnections = 64;
const floodConnections = 700;

/** Two shops, one of which asks for ten times its fair share: how the other one fares. */
export async function runFairness(context: BenchContext): Promise<FairnessSeen> {
  const { stack, options, say } = context;
  const ours = oursOf(context);
  const { warmupMs, measureMs } = options;
  say('fairness between two shops');
  const quiet = await addShopTo(ours.databaseUrl, materials);
  const quietCheck = await createLevelCheck(ours.databaseUrl, quiet);
  const generators = await stack.startGenerators();
  const yielding = await stack.startGenerators();
  for (const pid of yielding.pids) setPriority(pid, constants.priority.PRIORITY_LOW);
  const { capacity, problems } = await capacityOf(context, ours, 'SPREAD');
  const seen: FairnessSeen = {
    capacity,
    quietRate: 0,
    floodRate: 0,
    alone: [],
    besideBusy: [],
    beside: [],
    flood: [],
    besideYielding: [],
    yieldingFlood: [],
    p99Ratio: 0,
    quietNeverSent: 0,
    problems,
  };
  const fairShare = seen.capacity / 2;
  seen.quietRate = Math.round(fairShare * quietPart);
  seen.floodRate = Math.round(fairShare * floodPart);
  say(`  capacity ${Math.round(seen.capacity)}/s; ${seen.quietRate}/s beside ${seen.floodRate}/s`);
  const loadOf = (rate: number, connectionsMax: number) => ({ loop: 'open' as const, rate, connectionsMax });
  const window = { design: ours, scenario: namedScenarios.SPREAD, warmupMs, measureMs };
  // Without it Postgres fills new files of its log with zeros meanwhile: 10 ms each, sometimes 30; all commits wait.
  const flush = () => checkpoint(stack.postgresUrl);
  const quietFailures: Failures[] = [];
  const floodFailures: Failures[] = [];
  const askQuiet = async (seed: number): Promise<LatencySummary> => {
    const load = loadOf(seen.quietRate, quietConnections);
    const { summary } = await runLoad(generators, { ...window, catalogue: quiet, load, seed, check: quietCheck });
    quietFailures.push(failuresOf(summary));
    seen.quietNeverSent += summary.neverSent;
    return summary.total.latency;
  };
  const besideFlood = async (clients: Generators, seed: number): Promise<[LatencySummary, FloodFigures]> => {
    const load = loadOf(seen.floodRate, floodConnections);
    const [beside, flood] = await Promise.all([
      askQuiet(seed),
      runLoad(clients, { ...window, catalogue: stack.catalogue, load, seed, check: ours.check }),
    ]);
    floodFailures.push(exceptRefusals(failuresOf(flood.summary)));
    const { requestsASecond, latency, refusals, statuses } = flood.summary.total;
    return [beside, { requestsASecond, latency, refusals, statuses }];
  };
  try {
    for (let seed = 1; seed <= options.rounds; seed += 1) {
      await flush();
      const alone = await askQuiet(seed);
      seen.alone.push(alone);
      await flush();
      const busy = await besideBusy(() => askQuiet(seed), warmupMs + measureMs);
      seen.besideBusy.push(busy);
      await flush();
      const [beside, flood] = await besideFlood(stack.generators, seed);
      seen.beside.push(beside);
      seen.flood.push(flood);
      await flush();
      const [besideYielding, yieldingFlood] = await besideFlood(yielding, seed);
      seen.besideYielding.push(besideYielding);
      seen.yieldingFlood.push(yieldingFlood);
      const p99s = [alone, busy, beside, besideYielding].map(({ p99Ms }) => p99Ms.toFixed(1));
      say(`  p99 alone, beside busy programs, a flood, one that yields: ${p99s.join(', ')} ms`);
      say(`  the flood ${floodText(flood)}; the one that yields ${floodText(yieldingFlood)}`);
    }
    seen.problems.push(...(await quietCheck.problems({ withLedger: true })));
    seen.problems.push(...(await ours.check.problems({ withLedger: false })));
    seen.problems.push(...failureProblems('the quiet shop', sumOfFailures(quietFailures)));
    seen.problems.push(...failureProblems('the flood, beside refusals', sumOfFailures(floodFailures)));
  } finally {
    await generators.close();
    await yielding.close();
    await quietCheck.close();
  }
  seen.p99Ratio = median(seen.beside.map(({ p99Ms }) => p99Ms)) / median(seen.alone.map(({ p99Ms }) => p99Ms));
  return seen;
}

const floodText = ({ requestsASecond, statuses }: FloodFigures) =>
  `had ${Math.round(requestsASecond)}/s (${JSON.stringify(statuses)})`;

async function besideBusy(ask: () => Promise<LatencySummary>, askMs: number): Promise<LatencySummary> {
  const programs = startBusyPrograms(availableParallelism(), askMs);
  try {
    return await ask();
  } finally {
    programs.stop();
  }
}
