import { expect } from 'chai';
import { startStopwatch } from '../../../shared/runtime/stopwatch.js';

describe('how long ago a job was read, or a key looked up', () => {
  it('is what either clock says, where the machine was suspended or its time was set back', () => {
    let [monotonicMs, wallMs] = [1_000, 50_000];
    const sinceMs = startStopwatch([() => monotonicMs, () => wallMs]);
    expect(sinceMs()).to.equal(0);
    monotonicMs += 20.4;
    wallMs += 20;
    expect(sinceMs()).to.equal(20);
    wallMs += 900_000;
    expect(sinceMs(), 'suspended for a quarter of an hour').to.equal(900_020);
    wallMs -= 2_000_000;
    expect(sinceMs(), 'set back').to.equal(20);
  });

  it('goes by the clock of the wall as well, which a machine that was suspended comes back to', () => {
    const [now, hourMs] = [Date.now, 3_600_000];
    let suspendedMs = 0;
    Date.now = () => now() + suspendedMs;
    try {
      const passedMs = startStopwatch();
      suspendedMs = hourMs;
      expect(passedMs()).to.be.at.least(hourMs);
    } finally {
      Date.now = now;
    }
  });
});
