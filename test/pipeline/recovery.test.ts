import { expect } from 'chai';
import { giveBack, recoverJobs } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { openQueueRoom } from '../support/queue-room.js';
import type { QueueRoom } from '../support/queue-room.js';
import { pipelineKeys } from '../support/redis-keys.js';
import { startTestRedis } from '../support/servers.js';
import type { TestRedis } from '../support/servers.js';

describe('what owners leave behind, and idle materials', () => {
  let server: TestRedis;
  let room: QueueRoom;
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const name = queueName(ref);

  before(async () => {
    server = await startTestRedis();
    room = await openQueueRoom(server.url);
  });
  after(async () => {
    room.close();
    await server.stop();
  });
  beforeEach(() => server.flush());

  const take = (max?: number) => room.take(max);
  const takeOne = async (): Promise<HeldMaterial> => {
    const [held] = await take();
    if (held === undefined) throw new Error('nothing was ready');
    return held;
  };
  const ready = () => room.redis.lrange(keys.ready, 0, -1);
  const fetch = (held: HeldMaterial) => room.fetch(held.queue, held.token);
  const finish = (held: HeldMaterial, jobId: string) => room.finish(held.queue, jobId, held.token);
  const release = (held: HeldMaterial[]) => room.release(held);
  const runOut = (queue: string) => room.runOut(queue);

  describe('recovery', () => {
    it('puts what was left in active back ahead of wait, in its order', async () => {
      const ids: string[] = [];
      for (let index = 0; index < 12; index += 1) ids.push(await room.add(ref));
      const dead = await takeOne();
      for (let index = 0; index < 8; index += 1) await fetch(dead);
      await runOut(name);
      await room.sweep();
      const held = await takeOne();
      expect(held).to.include({ waiting: 4, leftBehind: 8 });
      const [recovered] = await recoverJobs(room.redis, [held]);
      expect(recovered).to.include({ waiting: 12, leftBehind: 0 });
      const fetched = [];
      for (const _ of ids) fetched.push((await fetch(held))?.id);
      expect(fetched).to.deep.equal(ids);
    });

    it('of jobs that are given back keeps their order too, at once or with a delay', async () => {
      for (const delayMs of [0, 100]) {
        await server.flush();
        const ids = [await room.add(ref), await room.add(ref), await room.add(ref)];
        const held = await takeOne();
        await fetch(held);
        await fetch(held);
        await giveBack(room.redis, [held], delayMs);
        expect(await room.jobs(ref, 'wait')).to.deep.equal(ids);
        expect(await room.redis.hexists(keys.leases, name)).to.equal(0);
        expect(await ready()).to.deep.equal(delayMs === 0 ? [name] : []);
        if (delayMs > 0) await runOut(name);
        await room.sweep();
        expect(await takeOne()).to.include({ waiting: 3, leftBehind: 0 });
      }
    });

    it('lets the job that a zombie still finishes go, and no other', async () => {
      const [first, second] = [await room.add(ref), await room.add(ref)];
      const zombie = await takeOne();
      await fetch(zombie);
      await runOut(name);
      await room.sweep();
      const held = await takeOne();
      // Before the new owner has recovered: the job goes, under the zombie's lock.
      await finish(zombie, first);
      const [recovered] = await recoverJobs(room.redis, [held]);
      expect(recovered).to.include({ waiting: 1 });
      expect((await fetch(held))?.id).to.equal(second);
      // After: the lock is the new owner's.
      await finish(zombie, second);
      expect(await room.jobs(ref, 'active')).to.deep.equal([second]);
    });

    it('finds what a zombie fetched under the lease of another', async () => {
      const id = await room.add(ref);
      const zombie = await takeOne();
      await runOut(name);
      await room.sweep();
      const held = await takeOne();
      await fetch(zombie);
      const kept = await release([held]);
      expect(kept.materials).to.have.length(1);
      expect(kept.materials[0]).to.include({ waiting: 0, leftBehind: 1 });
      await recoverJobs(room.redis, kept.materials);
      expect((await fetch(held))?.id).to.equal(id);
    });
  });

  describe('the release of an idle material', () => {
    it('leaves no key of it', async () => {
      const id = await room.add(ref);
      const held = await takeOne();
      await fetch(held);
      await finish(held, id);
      expect((await release([held])).materials).to.deep.equal([]);
      expect(await pipelineKeys(server.url)).to.deep.equal([]);
    });

    it('after an enqueue keeps the material, and before one lets the enqueue announce it', async () => {
      for (const isEnqueuedFirst of [true, false]) {
        await server.flush();
        const id = await room.add(ref);
        const held = await takeOne();
        await fetch(held);
        await finish(held, id);
        if (isEnqueuedFirst) await room.add(ref);
        const kept = await release([held]);
        if (!isEnqueuedFirst) await room.add(ref);
        expect(kept.materials).to.have.length(isEnqueuedFirst ? 1 : 0);
        expect(await take()).to.have.length(isEnqueuedFirst ? 0 : 1);
        expect(await room.jobs(ref, 'wait')).to.have.length(1);
      }
    });

    it('keeps a material whose finish failed', async () => {
      await room.add(ref);
      const held = await takeOne();
      await fetch(held);
      expect((await release([held])).materials[0]).to.include({ waiting: 0, leftBehind: 1 });
    });
  });
});
