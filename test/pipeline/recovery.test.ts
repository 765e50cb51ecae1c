import { expect } from 'chai';
import { giveBack, giveBackUncountedIn, renewLeases } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { createBatch } from '../../shared/redis/batch.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';

describe('what owners leave behind, and idle materials', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const name = queueName(ref);

  const takeOne = async (): Promise<HeldMaterial> => {
    const [held] = await harness.take();
    if (held === undefined) throw new Error('nothing was ready');
    return held;
  };
  const addSeveral = async (count: number) => {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await harness.add(ref));
    return ids;
  };
  /** Lets the lease run out, and a sweep find that. */
  const loseLease = async () => {
    await harness.runOut(name);
    await harness.sweep();
  };
  const deliveriesOf = ({ jobs }: HeldMaterial) => jobs.map(({ id, deliveries }) => [id, deliveries]);

  describe('recovery', () => {
    it('puts what was left in active back ahead of wait, in its order', async () => {
      const left = await addSeveral(8);
      await takeOne();
      const waiting = await addSeveral(4);
      await loseLease();
      const held = await takeOne();
      expect(deliveriesOf(held)).to.deep.equal([...left.map((id) => [id, 2]), ...waiting.map((id) => [id, 1])]);
    });

    it('of jobs that are given back keeps their order too, at once or with a delay', async () => {
      for (const delayMs of [0, 100]) {
        await harness.server.flush();
        const ids = await addSeveral(2);
        const held = await takeOne();
        ids.push(...(await addSeveral(1)));
        await harness.redis.del(keys.wake);
        await giveBack(harness.redis, [held], delayMs, 'counted');
        expect(await harness.redis.llen(keys.wake), 'whoever waits hears of it').to.equal(delayMs === 0 ? 1 : 0);
        expect(await harness.jobs(ref, 'wait')).to.deep.equal(ids);
        expect(await harness.jobs(ref, 'active')).to.deep.equal([]);
        expect(await harness.redis.hexists(keys.leases, name)).to.equal(0);
        expect(await harness.ready(ref.shopId)).to.deep.equal(delayMs === 0 ? [name] : []);
        if (delayMs > 0) await loseLease();
        expect(deliveriesOf(await takeOne())).to.deep.equal(ids.map((id, index) => [id, index < 2 ? 2 : 1]));
      }
    });

    it('of jobs whose material was left out does not count the delivery', async () => {
      const ids = await addSeveral(2);
      const batch = createBatch(harness.redis);
      giveBackUncountedIn(batch, [await takeOne()], 0);
      await batch.send();
      expect(deliveriesOf(await takeOne())).to.deep.equal(ids.map((id) => [id, 1]));
    });

    it('is possible, and to renew a lease, though the memory of Redis is full: only this work can free it', async () => {
      const ids = await addSeveral(2);
      const first = await takeOne();
      await harness.redis.config('SET', 'maxmemory', '1');
      try {
        expect(await harness.redis.set('any', '1').catch(String)).to.match(/OOM/);
        await renewLeases(harness.redis, [first]);
        await giveBack(harness.redis, [first], 0, 'uncounted');
      } finally {
        await harness.redis.config('SET', 'maxmemory', '0');
      }
      expect(deliveriesOf(await takeOne())).to.deep.equal(ids.map((id) => [id, 1]));
    });

    it('lets a zombie finish nothing, before and after its successor has come', async () => {
      const ids = await addSeveral(2);
      const zombie = await takeOne();
      await loseLease();
      expect(await harness.advance([workedOff(zombie)])).to.include({ lost: 1 });
      expect(await harness.jobs(ref, 'active')).to.deep.equal(ids);
      const held = await takeOne();
      expect(await harness.advance([workedOff(zombie)])).to.include({ lost: 1 });
      expect(deliveriesOf(held)).to.deep.equal(ids.map((id) => [id, 2]));
      expect(await harness.jobs(ref, 'active')).to.deep.equal(ids);
    });

    it('hands out a job whose hash is gone with empty data, so that it can be finished', async () => {
      const [id = ''] = await addSeveral(1);
      const [key = ''] = await harness.redis.keys(`*:${id}`);
      await harness.redis.del(key);
      const held = await takeOne();
      expect(held.jobs).to.deep.equal([{ id, data: '', deliveries: 1 }]);
      await harness.advance([workedOff(held)]);
      expect(await pipelineKeys(harness.server.url)).to.deep.equal([]);
    });
  });

  describe('the release of an idle material', () => {
    it('leaves no key of it', async () => {
      await addSeveral(3);
      const { materials } = await harness.advance([workedOff(await takeOne())]);
      expect(materials).to.deep.equal([]);
      expect(await pipelineKeys(harness.server.url)).to.deep.equal([]);
    });

    it('after an enqueue keeps the material, and before one lets the enqueue announce it', async () => {
      for (const isEnqueuedFirst of [true, false]) {
        await harness.server.flush();
        await harness.add(ref);
        const held = await takeOne();
        if (isEnqueuedFirst) await harness.add(ref);
        const kept = await harness.advance([workedOff(held)]);
        if (!isEnqueuedFirst) await harness.add(ref);
        expect(kept.materials).to.have.length(isEnqueuedFirst ? 1 : 0);
        expect(await harness.take()).to.have.length(isEnqueuedFirst ? 0 : 1);
        expect([...(await harness.jobs(ref, 'wait')), ...(await harness.jobs(ref, 'active'))]).to.have.length(1);
      }
    });

    it('keeps a material of which a job was not finished, and hands the job out again', async () => {
      const [first = '', second = ''] = await addSeveral(2);
      const held = await takeOne();
      const { materials } = await harness.advance([{ ...workedOff(held), finished: [first] }], 1);
      expect(materials.map(deliveriesOf)).to.deep.equal([[[second, 2]]]);
    });
  });
});
