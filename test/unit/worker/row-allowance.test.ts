import { expect } from 'chai';
import { createRowAllowance } from '../../../worker/row-allowance.js';

/** What is read in so many rounds, each of which reads so many rows when it may. */
function readIn(rounds: number, rowsPerRound: number, rowsARead: number): number {
  const allowance = createRowAllowance(rowsPerRound);
  let read = 0;
  for (let round = 0; round < rounds; round += 1) {
    if (!allowance.beginRound()) continue;
    allowance.spend(rowsARead);
    read += rowsARead;
  }
  return read;
}

describe('the allowance of rows', () => {
  it('lets no more be read over many rounds than is allowed, and one read at most on top', () => {
    for (const rowsARead of [1, 3, 167, 5_000]) {
      const read = readIn(6_000, 10, rowsARead);
      expect(read, `${rowsARead} a read`).to.be.at.most(60_000 + rowsARead);
      expect(read, `${rowsARead} a read`).to.be.at.least(Math.min(6_000 * rowsARead, 60_000) - rowsARead);
    }
  });

  it('may be less than a row a round', () => {
    expect(readIn(600, 1 / 60, 1)).to.be.within(9, 11);
  });

  it('of nothing lets nothing be read', () => {
    expect(readIn(1_000, 0, 1)).to.equal(0);
  });

  it('saves nothing up', () => {
    const allowance = createRowAllowance(10);
    for (let round = 0; round < 1_000; round += 1) allowance.beginRound();
    allowance.spend(20);
    expect([allowance.beginRound(), allowance.beginRound()]).to.deep.equal([false, true]);
  });
});
