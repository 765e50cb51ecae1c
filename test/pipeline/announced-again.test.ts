import { expect } from 'chai';
import { giveBack } from '../../shared/queue/leases.js';
import { queueName } from '../../shared/queue/names.js';
import { runScript } from '../../shared/queue/run-script.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';

describe('an announcement of what was announced before', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const other = { shopId: 1, materialId: 'VMAT-VAR-b' };
  const name = queueName(ref);

  it('of those whose job still stands, says which do not', async () => {
    const id = await harness.add(ref, { isAnnounced: false });
    const found = await runScript(harness.redis, 'rmAnnounceQueued', name, id, queueName(other), 'lost');
    expect(found).to.deep.equal([1, 0]);
    expect(await harness.ready(ref.shopId)).to.deep.equal([name]);
  });

  it('gives a material one place in line for all of its jobs', async () => {
    const [first, second] = [
      await harness.add(ref, { isAnnounced: false }),
      await harness.add(ref, { isAnnounced: false }),
    ];
    const found = await runScript(harness.redis, 'rmAnnounceQueued', name, first, name, second);
    expect(found).to.deep.equal([1, 1]);
    expect(await harness.ready(ref.shopId)).to.deep.equal([name]);
  });

  it('says also which a lane has taken, or has left out for a moment', async () => {
    const id = await harness.add(ref);
    const again = () => runScript(harness.redis, 'rmAnnounceQueued', name, id);
    expect(await again(), 'in line').to.deep.equal([1]);
    const held = await harness.take();
    expect(await again(), 'taken').to.deep.equal([2]);
    await giveBack(harness.redis, held, 60_000, 'uncounted');
    expect(await again(), 'left out').to.deep.equal([2]);
    expect(await harness.ready(ref.shopId)).to.deep.equal([]);
    await harness.runOut(name);
    await harness.sweep();
    expect(await again(), 'in line again').to.deep.equal([1]);
  });
});
