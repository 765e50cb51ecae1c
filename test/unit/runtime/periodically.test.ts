import { expect } from 'chai';
import { periodically } from '../../../shared/runtime/periodically.js';
import type { Rounds } from '../../../shared/runtime/periodically.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
const everyMs = 5;

describe('what is done periodically', () => {
  let rounds: Rounds | undefined;
  afterEach(() => rounds?.stop());

  it('is done at once, and again and again, whether or not a round fails; each is told of', async () => {
    const told: string[] = [];
    let begun = 0;
    rounds = periodically(
      everyMs,
      () => {
        begun += 1;
        return begun === 1 ? Promise.reject(new Error('away')) : Promise.resolve();
      },
      { failed: (error) => told.push(String(error)), passed: () => told.push('passed') },
    );
    expect(begun).to.equal(1);
    await until(() => told.length > 2, { deadlineMs: soonMsMax, what: 'three rounds' });
    expect(told.slice(0, 3)).to.deep.equal(['Error: away', 'passed', 'passed']);
  });

  it('is never done beside itself, and a stop waits for the round under way, which is told', async () => {
    let begun = 0;
    let told: AbortSignal | undefined;
    let end: () => void = () => undefined;
    const long = (signal: AbortSignal) => {
      begun += 1;
      told = signal;
      return new Promise<void>((resolve) => (end = resolve));
    };
    rounds = periodically(everyMs, long, { failed: () => undefined, passed: () => undefined });
    await new Promise((resolve) => setTimeout(resolve, 10 * everyMs));
    expect(begun).to.equal(1);
    expect(told?.aborted).to.equal(false);
    let hasStopped = false;
    const stopped = rounds.stop().then(() => (hasStopped = true));
    expect(told?.aborted).to.equal(true);
    await new Promise(setImmediate);
    expect(hasStopped).to.equal(false);
    end();
    await stopped;
    expect(begun).to.equal(1);
  });

  it('does not keep its process alive', () => {
    const timersBefore = activeTimers();
    rounds = periodically(60_000, () => Promise.resolve(), { failed: () => undefined, passed: () => undefined });
    expect(activeTimers()).to.equal(timersBefore);
  });
});

/** Without those that are unref'd. */
function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
