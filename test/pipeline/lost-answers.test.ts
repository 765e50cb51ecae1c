import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { nothingHeld, takeMaterials } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import type { WorkerPresence } from '../../shared/queue/worker-presence.js';
import { connectWorkerRedis, untilReady } from '../../shared/redis/connections.js';
import { runCycle } from '../../worker/cycle.js';
import { databaseWhose, depsOf } from '../support/redis/lane-deps.js';
import { patientMs, useQueueHarness } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

const soonMsMax = 10_000;

// Nobody sweeps here: what is not freed by its token stays leased.
describe('what was taken where the answer was lost', () => {
  const harness = useQueueHarness();
  const a = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const b = { shopId: 2, materialId: 'VMAT-VAR-b' };
  let redis: Redis;
  let presence: WorkerPresence;
  beforeEach(async () => {
    redis = connectWorkerRedis(harness.server.url, () => undefined, patientMs);
    await untilReady(redis);
    defineScripts(redis);
    presence = await createWorkerPresence(redis);
  });
  afterEach(() => redis.disconnect());

  const leased = async () => Object.keys(await harness.redis.hgetall(keys.leases));
  const takeAs = (token: string) => takeMaterials(harness.redis, { ...presence, newToken: () => token }, 32);

  /** Runs what takes the material while the worker hears nothing, and cuts its connection then. */
  async function loseAnswerOf(taking: () => Promise<unknown>): Promise<void> {
    await harness.add(a);
    redis.stream.pause();
    const ended = taking().catch((error: unknown) => error);
    await until(async () => (await leased()).length > 0, { deadlineMs: soonMsMax, what: 'the take' });
    redis.stream.destroy();
    expect(await ended).to.be.an('error');
  }

  async function expectInLine(): Promise<void> {
    const isFreed = async () => (await leased()).length === 0;
    await until(isFreed, { deadlineMs: soonMsMax, what: 'the worker to have reconnected, and freed it' });
    expect(await harness.ready(a.shopId)).to.deep.equal([queueName(a)]);
  }

  it('is in line again as soon as the worker has reconnected: of a lane that looks', async () => {
    await loseAnswerOf(() => takeMaterials(redis, presence, 32));
    await expectInLine();
  });

  it('and of the end of a cycle', async () => {
    const database = databaseWhose(() => Promise.reject(new Error('nothing is to be applied')));
    const deps = await depsOf(harness, { redis, database, presence });
    await loseAnswerOf(() => runCycle(deps, nothingHeld, () => false));
    await expectInLine();
  });

  it('is freed also if Redis runs the take only later, and no other lease is', async () => {
    presence.answerLost('lost');
    await presence.buryGone();
    await harness.add(a);
    await takeAs('lost');
    await harness.add(b);
    await takeMaterials(redis, presence, 32);
    await harness.redis.del(keys.wake);
    await presence.buryGone();
    expect(await leased()).to.deep.equal([queueName(b)]);
    expect(await harness.ready(a.shopId)).to.deep.equal([queueName(a)]);
    expect(await harness.redis.llen(keys.wake)).to.equal(1);
  });

  it('is freed as the worker leaves, under whatever number it was taken', async () => {
    await harness.add(a);
    await takeAs('1000000.of a former number');
    presence.answerLost('1000000.of a former number');
    await presence.leave();
    expect(await leased()).to.deep.equal([]);
  });
});
