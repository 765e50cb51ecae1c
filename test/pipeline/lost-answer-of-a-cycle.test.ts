import { expect } from 'chai';
import { nothingHeld } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { connectWorkerRedis, untilReady } from '../../shared/redis/connections.js';
import { runCycle } from '../../worker/cycle.js';
import { databaseWhose, depsOf } from '../support/redis/lane-deps.js';
import { patientMs, useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

describe('a cycle whose last answer does not come', () => {
  const harness = useQueueHarness();

  it('tells of the take in it, so that what Redis gave nobody does not wait for the end of a lease', async () => {
    const redis = connectWorkerRedis(harness.server.url, () => undefined, patientMs);
    await untilReady(redis);
    defineScripts(redis);
    const presence = await createWorkerPresence(redis);
    const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
    await harness.add(ref);
    const database = databaseWhose(() => Promise.reject(new Error('nothing is to be applied')));
    redis.stream.pause();
    const cycle = runCycle(await depsOf(harness, { redis, database, presence }), nothingHeld, () => false);
    const ended = cycle.catch((error: unknown) => error);
    const leased = () => harness.redis.hgetall(keys.leases);
    await until(async () => queueName(ref) in (await leased()), { deadlineMs: 10_000, what: 'the take' });
    redis.stream.destroy();
    expect(await ended).to.be.an('error');
    const isBackSoon = async () => {
      await untilReady(redis);
      await presence.buryGone().catch(() => undefined);
      return Object.keys(await leased()).length === 0;
    };
    await until(isBackSoon, { deadlineMs: 10_000, what: 'it to be in line again, though nobody sweeps here' });
    expect(await harness.ready(ref.shopId)).to.deep.equal([queueName(ref)]);
    redis.disconnect();
  });
});
