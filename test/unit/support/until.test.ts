import { expect } from 'chai';
import { standStill } from '../../support/processes/stand-still.js';
import { until } from '../../support/time/until.js';

describe('until', () => {
  it('sees what came while the process stood still beyond the deadline', async () => {
    let hasCome = false;
    const check = () => {
      if (hasCome) return true;
      setTimeout(() => (hasCome = true), 1);
      standStill(100);
      return false;
    };
    expect(await until(check, { deadlineMs: 50, what: 'it' })).to.equal(true);
  });

  it('fails at the deadline where nothing comes, and says what it waited for', async () => {
    const beganMs = performance.now();
    const failed = await until(() => false, { deadlineMs: 50, what: () => 'nothing' }).catch((error: unknown) => error);
    expect(failed).to.be.an('error').with.property('message', 'Waited 50 ms in vain for nothing');
    expect(performance.now() - beganMs).to.be.at.least(50);
  });
});
