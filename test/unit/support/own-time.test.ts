import { expect } from 'chai';
import { afterOwnTime, leftOf, ownPart, slownessOf, startOwnTime } from '../../support/time/own-time.js';

const at = (busyMs: number, stolenMs: number) => ({ busyMs, stolenMs });

describe('the time that a machine has to itself', () => {
  it('is all that passes where its host took nothing, or does not say', () => {
    expect(ownPart(1_000, at(500, 7_000), at(2_500, 7_000))).to.equal(1_000);
    expect(ownPart(1_000, at(500, 7_000), at(500, 7_000))).to.equal(1_000);
    expect(ownPart(1_000, undefined, undefined)).to.equal(1_000);
  });

  it('is the part in which its processes ran, where its host took some', () => {
    expect(ownPart(1_000, at(0, 0), at(300, 900))).to.equal(250);
    expect(ownPart(1_000, at(10_000, 50), at(11_500, 550))).to.equal(750);
  });

  it('is never nothing, so that a deadline always comes', () => {
    expect(ownPart(1_000, at(0, 0), at(0, 2_000))).to.equal(50);
  });

  it('goes on with the clock, at most as fast, and acts once it is over', async () => {
    const [beganMs, passedMs] = [performance.now(), startOwnTime()];
    await new Promise<void>((resolve) => afterOwnTime(50, resolve));
    expect(passedMs()).to.be.greaterThan(0);
    expect(passedMs()).to.be.at.most(performance.now() - beganMs);
    expect(performance.now() - beganMs).to.be.at.least(49);
  });

  it('is given to a deadline in full, and more where the machine is slow', async () => {
    expect(await leftOf(1_000, 250)).to.equal(750);
    expect(await leftOf(1_000, 999)).to.be.at.least(1);
    expect(await leftOf(1_000, 20_001), 'however slow it is').to.equal(0);
    expect([10, 400, 1_600, 60_000].map(slownessOf)).to.deep.equal([1, 1, 4, 20]);
  });

  it('can be taken back', async () => {
    let acted = false;
    afterOwnTime(1, () => (acted = true))();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(acted).to.equal(false);
  });
});
