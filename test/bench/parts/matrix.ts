import type { BenchContext } from '../context.js';
import { oursOf } from '../context.js';
import type { Pools } from '../pools.js';
import type { Round } from '../round.js';
import type { ScenarioName } from '../scenarios.js';
import { designsOf, takeTurns } from './rounds.js';

/** What the matrix is measured in: where combining helps most, and least. */
const matrixScenarios: readonly ScenarioName[] = ['HOT', 'SPREAD'];
export const matrixRounds = 2;

/**
 * Ours and d′, the fair comparison, at each number of connections; in turn, as all rounds.
 *
 * @param measured the rounds before these: a number of connections that they had is not measured again
 */
export async function runConnections(context: BenchContext, pools: Pools, measured: Round[]): Promise<Round[]> {
  const { options, say } = context;
  const rounds: Round[] = [];
  for (const scenario of matrixOf(options.scenarios)) {
    const running = designsOf(context, scenario).filter(({ name }) => name === 'ours' || name === 'dPrime');
    for (const connections of options.connections) {
      const known = closedRounds(measured, scenario, connections).filter(({ design }) =>
        running.some(({ name }) => name === design),
      );
      if (known.length > 0) {
        rounds.push(...known);
        continue;
      }
      say(`${scenario}, ${connections} connections`);
      const load = { loop: 'closed' as const, connections };
      rounds.push(...(await takeTurns(context, pools, { scenario, load }, running, matrixRounds)));
    }
  }
  return rounds;
}

function closedRounds(rounds: Round[], scenario: ScenarioName, connections: number): Round[] {
  return rounds.filter(
    (round) => round.scenario === scenario && round.load.loop === 'closed' && round.load.connections === connections,
  );
}

/** Ours with each number of worker processes. */
export async function runWorkers(context: BenchContext, pools: Pools): Promise<Round[]> {
  const { options, say } = context;
  const ours = oursOf(context);
  const rounds: Round[] = [];
  for (const scenario of matrixOf(options.scenarios)) {
    for (const workers of options.workers) {
      say(`${scenario}, ${workers} worker${workers === 1 ? '' : 's'}`);
      await ours.setWorkers(workers);
      const load = { loop: 'closed' as const, connections: 64 };
      rounds.push(...(await takeTurns(context, pools, { scenario, load }, [ours], matrixRounds)));
    }
  }
  await ours.setWorkers(options.workers[0] ?? 1);
  return rounds;
}

/** Those of the matrix that were asked for; if none was, the first that was. */
export function matrixOf(asked: readonly ScenarioName[]): readonly ScenarioName[] {
  const chosen = matrixScenarios.filter((scenario) => asked.includes(scenario));
  return chosen.length > 0 ? chosen : asked.slice(0, 1);
}
