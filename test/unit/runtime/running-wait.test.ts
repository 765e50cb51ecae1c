import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { afterRunning, startRunningWait } from '../../../shared/runtime/running-wait.js';
import { startAnswersFromOutside } from '../../support/http/answers-from-outside.js';
import type { AnswersFromOutside } from '../../support/http/answers-from-outside.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 15_000;
const never = new Promise<never>(() => undefined);
/** A timer may come a part of a millisecond early. */
const earlyMs = 2;

describe('a wait that goes on only while this process does', () => {
  let outside: AnswersFromOutside;
  before(async () => (outside = await startAnswersFromOutside()));
  after(() => outside.close());

  /** Stands still again and again until the promise settles, and gives its value with how often that was. */
  async function standingStill<T>(ms: number, promise: Promise<T>): Promise<{ value: T; times: number }> {
    let times = 0;
    const seen = { isSettled: false };
    const settled = promise.finally(() => (seen.isSettled = true));
    for (; !seen.isSettled; times += 1) {
      outside.standStill(ms);
      await nextTurn();
    }
    return { value: await settled, times };
  }

  for (const waitMs of [1, 99, 100, 300]) {
    it(`of ${waitMs} ms counts an answer that came while this process stood still for longer`, async () => {
      // At the end of a turn, after which the timers come before the sockets.
      await nextTurn();
      const wait = startRunningWait(waitMs);
      const answered = wait.within(
        outside.ask().then(() => 'answered'),
        'late',
      );
      outside.standStill(2 * waitMs + 50);
      expect(await answered).to.equal('answered');
      wait.stop();
    });
  }

  it('counts an answer that takes several turns, each of them longer than the wait', async () => {
    const wait = startRunningWait(300);
    const asked = outside.ask().then(() => outside.ask());
    const { value } = await standingStill(
      350,
      wait.within(
        asked.then(() => 'answered'),
        'late',
      ),
    );
    expect(value).to.equal('answered');
    wait.stop();
  });

  it('is over after its time in a process that runs, and not before', async () => {
    for (const waitMs of [20, 250]) {
      const sinceMs = performance.now();
      const wait = startRunningWait(waitMs);
      expect(await wait.within(never, 'late')).to.equal('late');
      expect(performance.now() - sinceMs).to.be.at.least(waitMs - earlyMs);
      expect(wait.isOver()).to.equal(true);
    }
  });

  it('is over after a bounded number of standstills as well, however long they are', async () => {
    const wait = startRunningWait(300);
    const { value, times } = await standingStill(400, wait.within(never, 'late'));
    expect(value).to.equal('late');
    // Each tick counts for 100 ms at least, and takes one of them; one more comes before the last tick is due.
    expect(times).to.be.within(2, 5);
  });

  it('passes a rejection on, and is no answer’s end once it is stopped', async () => {
    const wait = startRunningWait(20);
    const rejected = await wait.within(Promise.reject(new Error('away')), 'late').catch(String);
    expect(rejected).to.equal('Error: away');
    wait.stop();
    const other = startRunningWait(40);
    expect(await other.within(never, 'late')).to.equal('late');
    expect(wait.isOver()).to.equal(false);
  });

  it('does not call back where it is stopped between its last timer and its last turn', async () => {
    let calls = 0;
    const stop = afterRunning(1, () => (calls += 1));
    // The timers of one length that are due at once come in their order, before the turn goes on.
    setTimeout(stop, 1);
    outside.standStill(10);
    let isLater = false;
    afterRunning(20, () => (isLater = true));
    await until(() => isLater, { deadlineMs: soonMsMax, what: 'a wait that began later' });
    expect(calls).to.equal(0);
  });
});
