import pg from 'pg';
import type { LatencySummary } from '../../load/histogram.js';
import { namedScenarios } from '../../load/scenario.js';
import type { Gain } from '../../load/gains.js';
import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { exceptRefusals, failureProblems, failuresOf, sumOfFailures } from '../failures.js';
import type { Failures } from '../failures.js';
import { runLoad } from '../measure-round.js';
import { capacityOf } from './open-loop.js';

export interface LockedSeen {
  rate: number;
  /** The requests about other materials, a round each, in turn: without a lock, and while one is held. */
  free: LatencySummary[];
  locked: LatencySummary[];
  /** What the requests about the locked material were told. */
  statuses: Record<string, number>[];
  problems: string[];
}

/** A line forms by itself close to the capacity. */
const fraction = 0.5;
const connectionsMax = 128;
/** Longer than a request waits, so that it shows what those about the locked material are told. */
const lockedMsMin = 12_000;
const lockedRate = 20;
const lockedConnections = 200;

/** Another session holds one material's row: what requests about it are told, and how the others fare. */
export async function runLocked(context: BenchContext): Promise<LockedSeen> {
  const { stack, options, say } = context;
  const ours = oursOf(context);
  say('another session holds a material');
  const { catalogue } = stack;
  const last = catalogue.materialIds.length - 1;
  const others = { ...catalogue, materialIds: catalogue.materialIds.slice(0, last) };
  const held = { ...catalogue, materialIds: catalogue.materialIds.slice(last) };
  // Its requests know it as the only material, the check as the last.
  const heldCheck = {
    acknowledge: (gains: readonly Gain[]) => ours.check.acknowledge(gains.map((gain) => ({ ...gain, material: last }))),
  };
  const { capacity, problems } = await capacityOf(context, ours, 'SPREAD');
  const rate = Math.round(fraction * capacity);
  const seen: LockedSeen = { rate, free: [], locked: [], statuses: [], problems };
  const { warmupMs, measureMs } = options;
  const lockedMs = Math.max(measureMs, lockedMsMin);
  const window = { design: ours, warmupMs };
  const failures: Failures[] = [];
  const heldFailures: Failures[] = [];
  const askOthers = async (seed: number, ms: number): Promise<LatencySummary> => {
    const { summary } = await runLoad(stack.generators, {
      ...window,
      measureMs: ms,
      scenario: namedScenarios.SPREAD,
      catalogue: others,
      load: { loop: 'open', rate, connectionsMax },
      seed,
      check: ours.check,
    });
    failures.push(failuresOf(summary));
    return summary.total.latency;
  };
  const generators = await stack.startGenerators();
  const session = new pg.Client({ connectionString: ours.databaseUrl });
  await session.connect();
  try {
    for (let seed = 1; seed <= options.rounds; seed += 1) {
      const free = await askOthers(seed, measureMs);
      seen.free.push(free);
      await session.query('BEGIN');
      await session.query('SELECT 1 FROM stock WHERE shop_id = $1 AND material_id = $2 FOR UPDATE', [
        catalogue.shopId,
        catalogue.materialIds[last],
      ]);
      const asking = runLoad(generators, {
        ...window,
        measureMs: lockedMs,
        scenario: namedScenarios.HOT,
        catalogue: held,
        load: { loop: 'open', rate: lockedRate, connectionsMax: lockedConnections },
        seed,
        check: heldCheck,
      });
      const locked = await askOthers(seed, lockedMs);
      await session.query('ROLLBACK');
      const { summary } = await asking;
      seen.locked.push(locked);
      seen.statuses.push(summary.statuses);
      heldFailures.push(exceptOpen(exceptRefusals(failuresOf(summary))));
      say(
        `  p99 of the others: free ${free.p99Ms.toFixed(1)} ms, beside a lock ${locked.p99Ms.toFixed(1)} ms; ` +
          `the locked one was answered ${JSON.stringify(summary.statuses)}`,
      );
    }
    seen.problems.push(...(await ours.check.problems({ withLedger: false })));
    seen.problems.push(...failureProblems('the others beside a locked material', sumOfFailures(failures)));
    seen.problems.push(...failureProblems('the locked material, beside refusals and 504', sumOfFailures(heldFailures)));
  } finally {
    await session.end();
    await generators.close();
  }
  return seen;
}

/** While another session holds the row, whether a request was applied cannot be known. */
function exceptOpen({ 504: _, ...failures }: Failures): Failures {
  return failures;
}
