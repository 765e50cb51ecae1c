import { expect } from 'chai';
import { watchStolenMs } from './machine-time.js';

/** Less than this does not keep a part of the service silent for long enough to be taken for away. */
const stolenMsMin = 1_000;

/**
 * Begins to watch; holds, when called, that there was no refusal (503) since then. Only a machine from which its host took
 * CPU for a second may have refused: parts of the service that stand still are taken for away.
 */
export function watchRefusals(): (refused: number) => void {
  const stolenMs = watchStolenMs();
  return (refused) => {
    if (stolenMs() < stolenMsMin) expect(refused, 'refused, on a machine that had its CPU').to.equal(0);
  };
}

/** Asks; and once more for each refusal (503) for which a machine without its CPU may be to blame. */
export async function askUnrefused<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const stolenMs = watchStolenMs();
    const answer = await ask();
    if (answer.status !== 503 || stolenMs() < stolenMsMin) return answer;
  }
}
