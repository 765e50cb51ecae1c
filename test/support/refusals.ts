import { expect } from 'chai';
import { watchStolenMs } from './machine-time.js';

/** Less than this does not keep a part of the service silent for long enough to be taken for away. */
const stolenMsMin = 1_000;

/** Begins to watch; says, when called, whether the machine had its CPU since then: its host took less than a second of it. */
export function watchCpu(): () => boolean {
  const stolenMs = watchStolenMs();
  return () => stolenMs() < stolenMsMin;
}

/**
 * Begins to watch; holds, when called, that there was no refusal (503) since then. Only a machine without its CPU may have
 * refused: parts of the service that stand still are taken for away.
 */
export function watchRefusals(): (refused: number) => void {
  const hadCpu = watchCpu();
  return (refused) => {
    if (hadCpu()) expect(refused, 'refused, on a machine that had its CPU').to.equal(0);
  };
}

/** Asks; and once more for each refusal (503) for which a machine without its CPU may be to blame. */
export async function askUnrefused<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const hadCpu = watchCpu();
    const answer = await ask();
    if (answer.status !== 503 || hadCpu()) return answer;
  }
}

/** Of a connection that owes an answer: then it is given up (`silenceMsMax` in shared/redis/connections.ts). */
const silenceMs = 2_000;
/** How long ago a machine may have lacked its CPU for a refusal now: the time of a silence, and of connecting again. */
const recentMs = 10_000;
const sampleMs = 100;
const samples: { atMs: number; stolenMs: number }[] = [];
const stolenMs = watchStolenMs();

/** Whether the host took enough CPU of late for a silence, for suites that ask it with every answer: it looks back as far as it was asked. */
export function lacksCpu(): boolean {
  const now = { atMs: performance.now(), stolenMs: stolenMs() };
  while (samples[0] !== undefined && samples[0].atMs < now.atMs - recentMs) samples.shift();
  const [first = now, last = first] = [samples[0], samples.at(-1)];
  if (samples.length === 0 || now.atMs - last.atMs > sampleMs) samples.push(now);
  return now.stolenMs - first.stolenMs >= silenceMs;
}
