import { execute } from '../../support/database/execute.js';
import { until } from '../../support/time/until.js';
import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { addOldOperations, countOldOperations } from '../fill-history.js';
import { measureRound } from '../measure-round.js';
import { warmUp } from '../pools.js';
import type { Round } from '../round.js';
import { roundText } from '../round-text.js';
import { matrixOf } from './matrix.js';

export interface RetentionSeen {
  /** Old operations that were put there. */
  rows: number;
  /** Without anything to delete, and while the workers delete. */
  quiet: Round[];
  deleting: Round[];
  /** Old operations that were deleted within each of the windows, warm-up included. */
  deleted: number[];
}

/** At 20,000 a second at most, these last for longer than the windows. */
const oldOperations = 1_500_000;
/** The workers' pruning looks once a minute. */
const beginMsMax = 90_000;

/** Full load while the worker deletes operations that are older than anyone may ask for. */
export async function runRetention(context: BenchContext): Promise<RetentionSeen> {
  const { stack, options, say } = context;
  const ours = oursOf(context);
  const { warmupMs, measureMs } = options;
  const load = { loop: 'closed' as const, connections: 64 };
  const seen: RetentionSeen = { rows: oldOperations, quiet: [], deleting: [], deleted: [] };
  const measure = async (name: 'quiet' | 'deleting', seed: number) => {
    for (const scenario of matrixOf(options.scenarios)) {
      const before = name === 'deleting' ? await countOldOperations(ours.databaseUrl) : 0;
      const round = await measureRound(stack, ours, { scenario, load, seed, warmupMs, measureMs });
      seen[name].push(round);
      if (name === 'deleting') seen.deleted.push(before - (await countOldOperations(ours.databaseUrl)));
      say(`  ${scenario} ${name} ${roundText(round)}`);
    }
  };
  say('retention beside full load: without anything old');
  const failed: string[] = [];
  for (const scenario of matrixOf(options.scenarios)) failed.push(...(await warmUp(context, ours, scenario)));
  await measure('quiet', 1);
  await measure('quiet', 2);
  await addOldOperations(ours.databaseUrl, oldOperations);
  await execute(ours.databaseUrl, 'VACUUM (ANALYZE) operations');
  say(`${oldOperations} old operations are there; waiting for the pruning to begin`);
  const begun = async () => (await countOldOperations(ours.databaseUrl)) < oldOperations;
  await until(begun, { deadlineMs: beginMsMax, what: 'the workers to delete' });
  await measure('deleting', 1);
  await measure('deleting', 2);
  seen.quiet[0]?.problems.push(...failed);
  return seen;
}
