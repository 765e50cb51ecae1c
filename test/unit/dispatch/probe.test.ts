import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createProbe } from '../../../api/dispatch/probe.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 5_000;
/** Longer than any test. */
const neverMs = 3_600_000;

describe('a probe', () => {
  it('asks again soon after it failed or was answered badly, and seldom once all is well', async () => {
    const answers = [() => Promise.reject(new Error('away')), () => Promise.resolve(false)];
    let asked = 0;
    const ask = () => (answers[asked++] ?? (() => Promise.resolve(true)))();
    const probe = createProbe(ask, { wellMs: neverMs, unwellMs: 1 });
    await probe.askNow();
    await until(() => asked === 3, { deadlineMs: soonMsMax, what: 'the question that is answered well' });
    // Many times the pause between two questions while not all was well.
    await sleep(20);
    expect(asked).to.equal(3);
    probe.stop();
  });

  it('asks again later also where all is well', async () => {
    let asked = 0;
    const ask = () => Promise.resolve(++asked > 0);
    const probe = createProbe(ask, { wellMs: 1, unwellMs: neverMs });
    await probe.askNow();
    await until(() => asked > 2, { deadlineMs: soonMsMax, what: 'more questions' });
    probe.stop();
  });

  it('asks once where it was due, when somebody has asked meanwhile', async () => {
    const answers = [false, true];
    let asked = 0;
    const probe = createProbe(() => Promise.resolve(answers[asked++] ?? true), { wellMs: neverMs, unwellMs: 1 });
    await probe.askNow();
    await probe.askNow();
    // What was due after the first answer would have been asked by then.
    await sleep(20);
    probe.stop();
    expect(asked).to.equal(2);
  });

  it('never asks beside itself, nor again by itself once it is stopped', async () => {
    let asked = 0;
    let answer: (isWell: boolean) => void = () => undefined;
    const ask = () => {
      asked += 1;
      return new Promise<boolean>((resolve) => (answer = resolve));
    };
    const probe = createProbe(ask, { wellMs: 0, unwellMs: 0 });
    const first = probe.askNow();
    await probe.askNow();
    expect(asked).to.equal(1);
    probe.stop();
    answer(false);
    await first;
    // Timers of no time at all would have run by then.
    await sleep(20);
    expect(asked).to.equal(1);
  });
});
