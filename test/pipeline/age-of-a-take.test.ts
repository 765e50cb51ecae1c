import { expect } from 'chai';
import { advanceIn, leaseMs, readAdvanced, takeMaterials } from '../../shared/queue/leases.js';
import type { Held } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { createBatch } from '../../shared/redis/batch.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { standStill } from '../support/processes/stand-still.js';

describe('the age of what a lane has taken', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const taker = { newToken: () => 'of this take', answerLost: () => undefined };

  it('is reckoned from the sending of the take: its answer may lie unread in a process that stands still', async () => {
    await harness.add(ref);
    const taking = takeMaterials(harness.redis, taker, 1);
    standStill(500);
    const { materials, nowMs } = await taking;
    const readMs = nowMs();
    expect(materials).to.have.lengthOf(1);
    const takenMs = Number(await harness.redis.zscore(keys.scheduled, queueName(ref))) - leaseMs;
    expect(readMs - takenMs).to.be.at.least(500);
  });

  const takes: [how: string, take: () => Promise<Held>][] = [
    ['on its own', () => takeMaterials(harness.redis, taker, 1)],
    [
      'at the end of a cycle',
      async () => {
        const batch = createBatch(harness.redis);
        const sent = advanceIn(batch, taker, [], 1);
        const [[error, answer] = expect.fail()] = await batch.send();
        expect(error).to.equal(null);
        return readAdvanced(sent, answer);
      },
    ],
  ];
  for (const [how, take] of takes) {
    it(`includes the time for which the machine was suspended, of a take ${how}`, async () => {
      const [now, hourMs] = [Date.now, 3_600_000];
      let suspendedMs = 0;
      Date.now = () => now() + suspendedMs;
      try {
        const { nowMs } = await take();
        const beforeMs = nowMs();
        suspendedMs = hourMs;
        // Less by as much as the two clocks may have gone apart meanwhile.
        expect(nowMs() - beforeMs).to.be.above(hourMs / 2);
      } finally {
        Date.now = now;
      }
    });
  }
});
