import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { fillHistory } from '../fill-history.js';
import { measureRound } from '../measure-round.js';
import { warmUp } from '../pools.js';
import type { Round } from '../round.js';
import { roundText } from '../round-text.js';
import { matrixOf } from './matrix.js';

export interface PresentSeen {
  /** Operations, and ledger rows, that were filled in. */
  rows: number;
  /** In turn, on the database with next to nothing in it and on the full one. */
  empty: Round[];
  full: Round[];
}

/** The service beside itself on a database with years of work in it: both run, and take turns. */
export async function runPresent(context: BenchContext): Promise<PresentSeen> {
  const { stack, options, say } = context;
  say(`filling a database with ${options.present} operations and ledger rows`);
  const empty = oursOf(context);
  const full = await stack.startAnother({
    name: 'present',
    workers: options.workers[0] ?? 1,
    prepare: (url) => fillHistory(url, options.present, say),
  });
  const seen: PresentSeen = { rows: options.present, empty: [], full: [] };
  try {
    for (const scenario of matrixOf(options.scenarios)) {
      // The full one has just been started, and the other has perhaps been under load.
      const failed = [...(await warmUp(context, empty, scenario)), ...(await warmUp(context, full, scenario))];
      const load = { loop: 'closed' as const, connections: 64 };
      for (let seed = 1; seed <= options.rounds; seed += 1) {
        for (const name of seed % 2 === 0 ? (['full', 'empty'] as const) : (['empty', 'full'] as const)) {
          const { warmupMs, measureMs } = options;
          const plan = { scenario, load, seed, warmupMs, measureMs };
          const round = await measureRound(stack, name === 'full' ? full : empty, plan);
          round.problems.push(...failed.splice(0));
          seen[name].push(round);
          say(`  ${scenario} ${name.padEnd(5)} ${roundText(round)}`);
        }
      }
    }
    const problems = await full.check.problems({ withLedger: true });
    seen.full.at(-1)?.problems.push(...problems);
  } finally {
    await full.close();
  }
  return seen;
}
