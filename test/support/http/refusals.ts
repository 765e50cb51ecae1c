import { expect } from 'chai';
import { watchStolenMs } from '../time/machine-time.js';

/** Less than this does not keep a part of the service silent for long enough to be taken for away. */
const stolenMsMin = 1_000;

/** Begins to watch; the result says whether the machine had its CPU since: its host took less than a second of it. */
export function watchCpu(): () => boolean {
  const stolenMs = watchStolenMs();
  return () => stolenMs() < stolenMsMin;
}

/**
 * Begins to watch; what it returns expects that there was no refusal (503) since then. Only on a machine without its
 * CPU may there be some: parts of the service that stand still are taken for away.
 */
export function watchRefusals(hadCpu = watchCpu()): (refused: number, reasons?: readonly string[]) => void {
  return (refused, reasons = []) => {
    if (!hadCpu()) return;
    expect(refused, ['refused, on a machine that had its CPU', ...new Set(reasons)].join('\n')).to.equal(0);
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

/** A connection that owes an answer for this long is given up (`silenceMsMax` in shared/redis/connections.ts). */
const silenceMs = 2_000;
/** How long ago a lack of CPU may be the cause of a refusal now: the time of a silence, and of connecting again. */
const recentMs = 10_000;
const sampleMs = 100;
const samples: { atMs: number; stolenMs: number }[] = [];
const stolenMs = watchStolenMs();

/** Whether the host lately took enough CPU for a silence. It looks back as far as it was asked: ask at each answer. */
export function lacksCpu(): boolean {
  const now = { atMs: performance.now(), stolenMs: stolenMs() };
  while (samples[0] !== undefined && samples[0].atMs < now.atMs - recentMs) samples.shift();
  const [first = now, last = first] = [samples[0], samples.at(-1)];
  if (samples.length === 0 || now.atMs - last.atMs > sampleMs) samples.push(now);
  return now.stolenMs - first.stolenMs >= silenceMs;
}
