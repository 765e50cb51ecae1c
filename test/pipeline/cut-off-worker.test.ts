import { expect } from 'chai';
import { keys } from '../../shared/queue/names.js';
import { runScript } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';

describe('a worker that says that it is cut off from Postgres', () => {
  const harness = useQueueHarness();

  it('counts for none until it takes that back, or, if it ends first, for some seconds', async () => {
    const presence = await createWorkerPresence(harness.redis);
    const id = String(await harness.redis.client('ID'));
    // A beat that lasts, so that it is the same worker also where this process stands still.
    await runScript(harness.redis, 'rmBeat', id, 60_000, '');
    const liveWorkers = async () => ((await runScript(harness.redis, 'rmStatus', 3_000, '')) as unknown[])[1];
    expect(await liveWorkers()).to.equal(1);
    await presence.tellCutOff(true);
    expect(await liveWorkers()).to.equal(0);
    expect(await harness.redis.pttl(`${keys.cutOff}:${id}`), 'nobody has to take it away').to.be.within(1, 10_000);
    await presence.tellCutOff(false);
    expect(await liveWorkers()).to.equal(1);
  });
});
