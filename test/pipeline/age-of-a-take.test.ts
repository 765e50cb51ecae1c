import { expect } from 'chai';
import { leaseMs, takeMaterials } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { standStill } from '../support/processes/stand-still.js';

describe('the age of what a lane has taken', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };

  it('is reckoned from the sending of the take: its answer may lie unread in a process that stands still', async () => {
    await harness.add(ref);
    const taking = takeMaterials(harness.redis, { newToken: () => 'of this take', answerLost: () => undefined }, 1);
    standStill(500);
    const { materials, nowMs } = await taking;
    const readMs = nowMs();
    expect(materials).to.have.lengthOf(1);
    const takenMs = Number(await harness.redis.zscore(keys.scheduled, queueName(ref))) - leaseMs;
    expect(readMs - takenMs).to.be.at.least(500);
  });
});
