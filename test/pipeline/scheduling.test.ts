import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  giveBack,
  leaseMs,
  readKept,
  recoverJobs,
  releaseIdleOn,
  renewLeases,
  takeMaterials,
} from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, materialOfQueue, queueName } from '../../shared/queue/names.js';
import { runScript } from '../../shared/queue/run-script.js';
import { createDice } from '../support/dice.js';
import { openQueueRoom } from '../support/queue-room.js';
import type { QueueRoom } from '../support/queue-room.js';
import { pipelineKeys } from '../support/redis-keys.js';
import { startTestRedis } from '../support/servers.js';
import type { TestRedis } from '../support/servers.js';

const many = 32;

describe('the scheduling of materials', () => {
  let server: TestRedis;
  let room: QueueRoom;
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const other = { shopId: 1, materialId: 'VMAT-VAR-b' };
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

  const take = async (max = many) => (await takeMaterials(room.redis, max)).materials;
  const takeOne = async (): Promise<HeldMaterial> => {
    const [held] = await take();
    if (held === undefined) throw new Error('nothing was ready');
    return held;
  };
  const ready = () => room.redis.lrange(keys.ready, 0, -1);
  const fetch = (held: HeldMaterial) => room.fetch(held.queue, held.token);
  const finish = (held: HeldMaterial, jobId: string) => room.finish(held.queue, jobId, held.token);
  const release = async (held: HeldMaterial[]) => {
    const pipeline = room.queues.pipeline();
    releaseIdleOn(pipeline, held);
    const [[, answer] = [null, []]] = (await pipeline.exec()) ?? [];
    return readKept(held, answer);
  };
  /** As if the lease, or the turn, had run out. */
  const runOut = (material: string) => room.redis.zadd(keys.scheduled, 1, material);
  const score = async (material: string) => Number((await room.redis.zscore(keys.scheduled, material)) ?? NaN);
  const redisNowMs = async () => {
    const [seconds, micros] = (await room.redis.time()) as unknown as [number, number];
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  };

  describe('an announcement', () => {
    it('makes a material ready once, however often it is repeated', async () => {
      expect(await room.announce(ref)).to.equal(1);
      expect(await room.announce(ref)).to.equal(0);
      expect(await ready()).to.deep.equal([name]);
      expect(await room.redis.llen(keys.wake)).to.equal(1);
    });

    it('does nothing for a material that is leased: its owner looks before it lets go', async () => {
      await room.add(ref);
      const held = await takeOne();
      await room.announce(ref);
      expect(await ready()).to.deep.equal([]);
      expect(await take()).to.deep.equal([]);
      expect((await release([held])).materials).to.have.length(1);
    });

    it('comes with its job or not at all, the job first', async () => {
      const sent: string[] = [];
      const watcher = new Redis(server.url, { retryStrategy: () => null });
      const monitor = await watcher.monitor();
      try {
        const seen = new Promise<void>((resolve) => {
          monitor.on('monitor', (_time: string, args: string[]) => {
            sent.push(args.join(' '));
            if (args[0]?.toLowerCase() === 'exec') resolve();
          });
        });
        await room.add(ref);
        await seen;
      } finally {
        monitor.disconnect();
        watcher.disconnect();
      }
      const at = (part: string) => sent.findIndex((command) => command.toLowerCase().startsWith(part));
      const add = sent.findIndex((command) => command.includes('LPUSH') || command.includes(`:${name}:`));
      const push = sent.findIndex((command) => command.toLowerCase().startsWith('rpush') && command.includes(name));
      expect(at('multi')).to.be.within(0, add);
      expect(push).to.be.greaterThan(add);
      expect(at('exec')).to.be.greaterThan(push);
    });

    it('again, of those whose job still stands, says which do not', async () => {
      const id = await room.add(ref, { isAnnounced: false });
      const found = await runScript(room.redis, 'rmAnnounceQueued', name, id, queueName(other), 'lost');
      expect(found).to.deep.equal([1, 0]);
      expect(await ready()).to.deep.equal([name]);
    });
  });

  describe('a take', () => {
    it('answers the time, and for each material a token of this take and what stands in its lists', async () => {
      await room.add(ref);
      await room.add(ref);
      await room.add(other);
      const held = await takeMaterials(room.redis, many);
      expect(Math.abs(held.nowMs - (await redisNowMs()))).to.be.below(1_000);
      expect(held.materials.map(({ queue, waiting, leftBehind }) => [queue, waiting, leftBehind])).to.deep.equal([
        [name, 2, 0],
        [queueName(other), 1, 0],
      ]);
      expect(await room.redis.hget(keys.leases, name)).to.equal(held.materials[0]?.token);
      expect((await score(name)) - held.nowMs).to.equal(leaseMs);
    });

    it('takes no more than it asks for, and wakes another for the rest', async () => {
      await room.add(ref);
      await room.add(other);
      await room.redis.del(keys.wake);
      expect(await take(1)).to.have.length(1);
      expect(await room.redis.llen(keys.wake)).to.equal(1);
      expect(await take(1)).to.have.length(1);
    });

    it('passes over a material that the list holds twice, once it is leased', async () => {
      await room.add(ref);
      await room.redis.rpush(keys.ready, name, name);
      expect(await take()).to.have.length(1);
      expect(await ready()).to.deep.equal([]);
    });

    it('passes over a material that is no longer scheduled', async () => {
      await room.redis.rpush(keys.ready, name);
      expect(await take()).to.deep.equal([]);
      expect(await pipelineKeys(server.url)).to.deep.equal([]);
    });

    it('takes one whose lease has run out, and the token of the older take then does nothing', async () => {
      const jobs = [await room.add(ref), await room.add(ref)];
      const older = await takeOne();
      await fetch(older);
      await runOut(name);
      await room.redis.rpush(keys.ready, name);
      const newer = await takeOne();
      expect(newer.token).to.not.equal(older.token);
      expect(newer).to.include({ waiting: 1, leftBehind: 1 });
      const before = await score(name);

      await renewLeases(room.redis, [older]);
      expect(await recoverJobs(room.redis, [older])).to.deep.equal([]);
      expect(await release([older])).to.include({ lost: 1 });
      await giveBack(room.redis, [older], 0);
      expect(await score(name)).to.equal(before);
      expect(await room.redis.hget(keys.leases, name)).to.equal(newer.token);
      expect(await ready()).to.deep.equal([]);
      expect(await room.jobs(ref, 'active')).to.deep.equal(jobs.slice(0, 1));
    });
  });

  describe('a lease', () => {
    it('is renewed from the moment of the renewal', async () => {
      await room.add(ref);
      const held = await takeOne();
      await room.redis.zadd(keys.scheduled, (await redisNowMs()) + 5, name);
      await renewLeases(room.redis, [held]);
      expect((await score(name)) - (await redisNowMs())).to.be.within(leaseMs - 1_000, leaseMs + 1);
    });

    it('that has run out is brought back by the sweep, and others are not', async () => {
      await room.add(ref);
      await room.add(other);
      const [held] = await take();
      await runOut(name);
      expect(await room.sweep()).to.equal(1);
      expect(await ready()).to.deep.equal([name]);
      expect(await room.redis.hexists(keys.leases, name)).to.equal(0);
      expect(await room.redis.llen(keys.wake)).to.equal(1);
      // The late owner is an owner no more, even before the next one takes.
      expect(await release(held === undefined ? [] : [held])).to.include({ lost: 1 });
    });

    it('of a ready material that nobody takes is announced anew by the sweep', async () => {
      await room.add(ref);
      await room.redis.del(keys.ready, keys.wake);
      await runOut(name);
      await room.sweep();
      expect(await take()).to.have.length(1);
    });
  });

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
      const [first = '', second = ''] = [await room.add(ref), await room.add(ref)];
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

  it('keeps the time for which the head of the ready list has waited, and forgets it with the take', async () => {
    await room.add(ref);
    const sinceMs = Number(await room.redis.hget(keys.since, name));
    await room.redis.hset(keys.since, name, sinceMs - 5_000);
    const [, , ageMs] = (await runScript(room.redis, 'rmStatus')) as number[];
    expect(ageMs).to.be.within(5_000, 10_000);
    await runOut(name);
    await room.sweep();
    expect(Number(await room.redis.hget(keys.since, name)), 'the sweep keeps it').to.equal(sinceMs - 5_000);
    await take();
    expect(await room.redis.exists(keys.since)).to.equal(0);
  });

  it('counts workers as long as their heart beats', async () => {
    const live = async () => ((await runScript(room.redis, 'rmStatus')) as number[])[1];
    expect(await live()).to.equal(0);
    await runScript(room.redis, 'rmBeat', 'one', 60_000);
    await runScript(room.redis, 'rmBeat', 'two', 60_000);
    expect(await live()).to.equal(2);
    await room.redis.zadd(keys.workers, 1, 'one');
    expect(await live()).to.equal(1);
    await runScript(room.redis, 'rmBeat', 'two', 0);
    expect(await live()).to.equal(0);
  });

  it('loses no job, keeps the order of each material and ends without a key, whatever owners do', async () => {
    const dice = createDice('random scheduling');
    const refs = Array.from({ length: 5 }, (_, index) => ({ shopId: 1, materialId: `VMAT-VAR-${String(index)}` }));
    const added = new Map<string, string[]>(refs.map((each) => [queueName(each), []]));
    const done = new Map<string, string[]>(refs.map((each) => [queueName(each), []]));
    let owners: HeldMaterial[][] = [];
    for (let step = 0; step < 1_500; step += 1) await randomStep(step < 1_000);
    // Owners that vanish leave their leases; in the end each runs out.
    owners = [];
    for (let round = 0; round < 40; round += 1) {
      for (const each of refs) if (!Number.isNaN(await score(queueName(each)))) await runOut(queueName(each));
      await room.sweep();
      for (const held of await take()) await workOff(held, Infinity);
    }
    expect(done).to.deep.equal(added);
    expect(await pipelineKeys(server.url)).to.deep.equal([]);

    async function randomStep(mayAdd: boolean): Promise<void> {
      const owner = owners.length > 0 ? dice.pick(owners) : [];
      switch (dice.below(8)) {
        case 0:
        case 1: {
          if (!mayAdd) return;
          const each = dice.pick(refs);
          added.get(queueName(each))?.push(await room.add(each));
          return;
        }
        case 2:
          owners.push(await take(1 + dice.below(3)));
          return;
        case 3:
          for (const held of owner) await workOff(held, dice.below(4));
          return;
        case 4:
          await renewLeases(room.redis, owner);
          return;
        case 5:
          await giveBack(room.redis, owner, dice.below(2) * 100);
          return;
        case 6:
          if (dice.chance(0.3)) await runOut(queueName(dice.pick(refs))).then(() => room.sweep());
          return;
        case 7:
          owners = owners.filter((each) => each !== owner);
          return;
      }
    }

    /** As a lane works, by an owner that may be one no more: applied is what Postgres would take for the first time. */
    async function workOff(held: HeldMaterial, jobsMax: number): Promise<void> {
      const isOwner = (await room.redis.hget(keys.leases, held.queue)) === held.token;
      const [recovered] = isOwner ? await recoverJobs(room.redis, [held]) : [];
      const finished = done.get(held.queue) ?? [];
      for (let count = 0; recovered !== undefined && count < Math.min(jobsMax, recovered.waiting); count += 1) {
        const job = await fetch(held);
        if (job === undefined) break;
        if (!finished.includes(job.id)) finished.push(job.id);
        // Some die between the commit and the finish.
        if (dice.chance(0.9)) await finish(held, job.id);
      }
      await release([held]);
    }
  });

  it('names queues so that they tell shop and material', () => {
    expect(materialOfQueue(queueName({ shopId: 12, materialId: 'VMAT-a-1' }))).to.deep.equal({
      shopId: 12,
      materialId: 'VMAT-a-1',
    });
  });
});
