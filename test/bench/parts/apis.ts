import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import { failureProblems, failuresOf, sumOfFailures } from '../failures.js';
import { runLoad } from '../measure-round.js';
import type { Loaded } from '../measure-round.js';
import type { ProcessRole } from '../process-times.js';
import { warmUp } from '../pools.js';
import type { ScenarioName } from '../scenarios.js';
import { scenarios } from '../scenarios.js';
import { median } from '../median.js';
import { matrixOf, matrixRounds } from './matrix.js';

/** Ours with a number of API processes: medians of the rounds. */
export interface ApisSeen {
  scenario: ScenarioName;
  apis: number;
  requestsASecond: number;
  /** Milliseconds of each part for a request; undefined where the system does not tell. */
  cpuMsARequest: Partial<Record<ProcessRole, number>> | undefined;
  problems: string[];
}

const apiCounts = [1, 2];
const roles = ['api', 'worker', 'redis', 'postgres'] as const;
/** Of each of the two generators, so that two API processes have as many clients as one. */
const connections = 32;

/** What a request costs each part with more API processes. Two generators throughout, so two APIs have one each. */
export async function runApis(context: BenchContext): Promise<ApisSeen[]> {
  const { stack, options, say } = context;
  const ours = oursOf(context);
  const second = await stack.startGenerators();
  const seen: ApisSeen[] = [];
  try {
    for (const scenario of matrixOf(options.scenarios)) {
      for (const apis of apiCounts) {
        await ours.setApis(apis);
        const failed: string[] = [];
        for (const port of ours.ports.slice(0, apis))
          failed.push(...(await warmUp(context, { ...ours, port }, scenario)));
        const rounds: Loaded[][] = [];
        for (let seed = 1; seed <= matrixRounds; seed += 1) {
          const wishOf = (index: number) => ({
            design: { ...ours, port: ours.ports[index % apis] ?? ours.port },
            scenario: scenarios[scenario].load,
            catalogue: stack.catalogue,
            load: { loop: 'closed' as const, connections },
            // A seed for each, or both would ask the same in the same order.
            seed: 2 * seed + index,
            warmupMs: options.warmupMs,
            measureMs: options.measureMs,
            check: ours.check,
          });
          rounds.push(await Promise.all([stack.generators, second].map((each, index) => runLoad(each, wishOf(index)))));
        }
        const one = {
          scenario,
          apis,
          ...figuresOf(rounds),
          problems: [
            ...failed,
            ...(await ours.check.problems({ withLedger: false })),
            ...failureProblems(
              `${scenario} with ${apis} API processes`,
              sumOfFailures(rounds.flat().map(({ summary }) => failuresOf(summary))),
            ),
          ],
        };
        say(`  ${apisText(one)}`);
        seen.push(one);
      }
    }
  } finally {
    await second.close();
    await ours.setApis(1);
  }
  return seen;
}

function figuresOf(rounds: readonly Loaded[][]): Pick<ApisSeen, 'requestsASecond' | 'cpuMsARequest'> {
  const answered = (all: readonly Loaded[]) => all.reduce((sum, { summary }) => sum + summary.total.answered, 0);
  const rates = rounds.map((all) => all.reduce((sum, { summary }) => sum + summary.total.requestsASecond, 0));
  // One reading will do: the two windows differ by milliseconds, and the counters are those of all processes.
  const costOf = (role: ProcessRole) => median(rounds.map((all) => (all[0]?.cpu?.[role] ?? NaN) / answered(all)));
  const isTold = rounds.every(([first]) => first?.cpu !== undefined);
  return {
    requestsASecond: median(rates),
    cpuMsARequest: isTold ? Object.fromEntries(roles.map((role) => [role, costOf(role)])) : undefined,
  };
}

export function apisText({ scenario, apis, requestsASecond, cpuMsARequest: cpu }: ApisSeen): string {
  const costs = cpu && roles.map((role) => `${role} ${Math.round((cpu[role] ?? NaN) * 1_000)}`).join(', ');
  return (
    `${scenario} with ${apis} API process${apis === 1 ? '' : 'es'}: ${Math.round(requestsASecond).toLocaleString('en-GB')}/s` +
    (costs === undefined ? '' : `; CPU a request, µs: ${costs}`)
  );
}
