import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { keys } from '../../shared/queue/names.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

describe('a beat of a worker that fails', () => {
  const harness = useQueueHarness();

  /** A worker that Redis does not let look at its connection, which each beat does, while `isRefused` is set. */
  async function startWorker() {
    const state = { isRefused: false, refused: 0 };
    const redis = new Proxy(harness.redis, {
      get(target, name) {
        if (name !== 'client' || !state.isRefused) return Reflect.get(target, name) as unknown;
        return () => {
          state.refused += 1;
          return Promise.reject(new Error('Connection is closed.'));
        };
      },
    });
    return { state, presence: await createWorkerPresence(redis) };
  }
  const listed = () => harness.redis.zrange(keys.workers, '0', '-1');

  it('does not keep it on the list of the living once it leaves', async () => {
    const { state, presence } = await startWorker();
    expect(await listed()).to.have.lengthOf(1);
    state.isRefused = true;
    expect(String(await presence.beat().catch((error: unknown) => error))).to.match(/Connection is closed/);
    await presence.leave();
    expect(await listed()).to.deep.equal([]);
  });

  it('as its connection comes back, is made good by the next, and does not end its process', async () => {
    const { state, presence } = await startWorker();
    state.isRefused = true;
    harness.redis.disconnect(true);
    await until(() => state.refused > 0, { deadlineMs: 10_000, what: 'the beat' });
    // By then a rejection that nobody handles would have ended this process.
    await turn();
    expect(presence.newToken(), 'under nobody').to.match(/^\./);
    state.isRefused = false;
    await presence.beat();
    expect(await listed()).to.deep.include(String(await harness.redis.client('ID')));
  });
});
