import { expect } from 'chai';
import { takeMaterials } from '../../shared/queue/leases.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { standStill } from '../support/processes/stand-still.js';

describe('the age of what a lane has taken', () => {
  const harness = useQueueHarness();

  it('is reckoned from the sending of the take: its answer may lie unread in a process that stands still', async () => {
    await harness.add({ shopId: 1, materialId: 'VMAT-VAR-a' });
    const taking = takeMaterials(harness.redis, { newToken: () => 'of this take', answerLost: () => undefined }, 1);
    standStill(500);
    const { materials, sinceSentMs } = await taking;
    expect(materials).to.have.lengthOf(1);
    expect(sinceSentMs()).to.be.at.least(500);
  });
});
