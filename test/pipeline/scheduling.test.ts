import { expect } from 'chai';
import { giveBack, leaseMs, renewLeases, takeMaterials } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, materialOfQueue, queueName } from '../../shared/queue/names.js';
import { operationsJob } from '../../shared/queue/job-format.js';
import { runScript } from '../../shared/queue/run-script.js';
import { startStopwatch } from '../../shared/runtime/stopwatch.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { monitorRedis } from '../support/redis/redis-monitor.js';

const many = 32;
/** An age that nothing in here comes to by itself. */
const lateMs = 600_000;

describe('the scheduling of materials', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const other = { shopId: 1, materialId: 'VMAT-VAR-b' };
  const name = queueName(ref);

  const take = (max?: number) => harness.take(max);
  const takeOne = async (): Promise<HeldMaterial> => {
    const [held] = await take();
    if (held === undefined) throw new Error('nothing was ready');
    return held;
  };
  const ready = () => harness.ready(ref.shopId);
  /** Puts them there as in a list left in disorder. */
  const putInLine = async (...names: string[]) => {
    await harness.redis.rpush(`${keys.ready}:${String(ref.shopId)}`, ...names);
    await harness.redis.rpush(keys.ready, ref.shopId);
  };
  const runOut = (queue: string) => harness.runOut(queue);
  const score = async (material: string) => Number((await harness.redis.zscore(keys.scheduled, material)) ?? NaN);
  const redisNowMs = async () => {
    const [seconds, micros] = await harness.redis.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  };

  describe('an announcement', () => {
    it('makes a material ready once, however often it is repeated', async () => {
      expect(await harness.announce(ref)).to.equal(1);
      expect(await harness.announce(ref)).to.equal(0);
      expect(await ready()).to.deep.equal([name]);
      expect(await harness.redis.llen(keys.wake)).to.equal(1);
    });

    it('leaves one entry to wake a lane, however many materials are announced while none waits', async () => {
      await harness.announce(ref);
      await harness.announce(other);
      expect(await harness.redis.llen(keys.wake)).to.equal(1);
    });

    it('of more materials than one command takes makes each ready, in their order', async () => {
      const names = Array.from({ length: 2_500 }, (_, index) =>
        queueName({ ...ref, materialId: `VMAT-${String(index)}` }),
      );
      expect(await runScript(harness.redis, 'rmAnnounce', ...names)).to.equal(names.length);
      expect(await ready()).to.deep.equal(names);
      expect(await harness.redis.zcard(keys.scheduled)).to.equal(names.length);
      expect(await runScript(harness.redis, 'rmAnnounce', ...names)).to.equal(0);
    });

    it('does nothing for a material that is leased: its owner looks before it lets go', async () => {
      await harness.add(ref);
      const held = await takeOne();
      await harness.announce(ref);
      expect(await ready()).to.deep.equal([]);
      expect(await take()).to.deep.equal([]);
      await harness.add(ref);
      expect((await harness.advance([workedOff(held)])).materials).to.have.length(1);
    });

    it('comes with its job or not at all, the job first', async () => {
      const sent: string[] = [];
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const monitor = await monitorRedis(harness.server.url, ({ name: command, args }) => {
        sent.push([command, ...args].join(' '));
        if (command === 'exec') end();
      });
      try {
        await harness.add(ref);
        await ended;
      } finally {
        monitor.stop();
      }
      const at = (part: string) => sent.findIndex((command) => command.toLowerCase().startsWith(part));
      const add = sent.findIndex((command) => command.includes('LPUSH') || command.includes(`:${name}:`));
      const push = sent.findIndex((command) => command.toLowerCase().startsWith('rpush') && command.includes(name));
      expect(at('multi')).to.be.within(0, add);
      expect(push).to.be.greaterThan(add);
      expect(at('exec')).to.be.greaterThan(push);
    });
  });

  describe('a take', () => {
    it('answers the time, and each material under a token of this take, with its jobs in their order', async () => {
      const jobs = [await harness.add(ref), await harness.add(ref)];
      await harness.add(other);
      const beforeMs = await redisNowMs();
      const sinceMs = startStopwatch();
      const held = await takeMaterials(
        harness.redis,
        { newToken: () => 'of this take', answerLost: () => undefined },
        many,
      );
      const [nowMs, tookMs] = [held.nowMs(), sinceMs()];
      const takenMs = (await score(name)) - leaseMs;
      expect(takenMs, 'a whole lease from the take').to.be.within(Math.floor(beforeMs), await redisNowMs());
      expect(nowMs - takenMs, 'and what has passed since').to.be.within(0, tookMs);
      expect(held.materials.map((each) => [each.queue, each.jobs.length])).to.deep.equal([
        [name, 2],
        [queueName(other), 1],
      ]);
      expect(held.materials[0]?.jobs.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal(
        jobs.map((id) => [id, 1]),
      );
      expect(held.materials[0]?.jobs[0]?.data).to.equal(JSON.stringify(operationsJob('test', [])));
      expect(held.materials.map(({ token }) => token)).to.deep.equal(['of this take', 'of this take']);
      expect(await harness.redis.hget(keys.leases, name)).to.equal('of this take');
    });

    it('takes no more than it asks for, and wakes another for the rest', async () => {
      await harness.add(ref);
      await harness.add(other);
      await harness.redis.del(keys.wake);
      expect(await take(1)).to.have.length(1);
      expect(await harness.redis.llen(keys.wake)).to.equal(1);
      expect(await take(1)).to.have.length(1);
    });

    it('passes over a material that the list holds twice, once it is leased', async () => {
      await harness.add(ref);
      await putInLine(name, name);
      expect(await take()).to.have.length(1);
      expect(await ready()).to.deep.equal([]);
    });

    it('passes over a material that is no longer scheduled', async () => {
      await putInLine(name);
      expect(await take()).to.deep.equal([]);
      expect(await pipelineKeys(harness.server.url)).to.deep.equal([]);
    });

    it('takes one whose lease has run out, and the token of the older take then does nothing', async () => {
      const jobs = [await harness.add(ref), await harness.add(ref)];
      const older = await takeOne();
      await runOut(name);
      await putInLine(name);
      const newer = await takeOne();
      expect(newer.token).to.not.equal(older.token);
      expect(newer.jobs.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal(jobs.map((id) => [id, 2]));
      const before = await score(name);

      await renewLeases(harness.redis, [older]);
      expect(await harness.advance([workedOff(older)])).to.deep.include({ lost: 1, materials: [] });
      await giveBack(harness.redis, [older], 0, 'counted');
      await runScript(harness.redis, 'rmDrop', name, older.token, jobs[0] ?? '');
      expect(await score(name)).to.equal(before);
      expect(await harness.redis.hget(keys.leases, name)).to.equal(newer.token);
      expect(await ready()).to.deep.equal([]);
      expect(await harness.jobs(ref, 'active')).to.deep.equal(jobs);
    });

    it('hands out of one material what a cycle takes, and of all no more bytes than an answer may hold', async () => {
      const jobs = [];
      for (let index = 0; index < 70; index += 1) jobs.push(await harness.add(ref));
      const held = await takeOne();
      expect(held.jobs.map(({ id }) => id)).to.deep.equal(jobs.slice(0, 64));
      const [next] = (await harness.advance([workedOff(held)], 1)).materials;
      expect(next?.jobs.map(({ id }) => id)).to.deep.equal(jobs.slice(64));
    });

    it('of jobs that are too large for one answer leaves some for the next, and those come first then', async () => {
      const large = { ...operationsJob('test', []), filling: 'x'.repeat(5 * 1_024 * 1_024) };
      const refs = [1, 2, 3].map((index) => ({ shopId: 1, materialId: `VMAT-VAR-${String(index)}` }));
      for (const each of refs) await harness.add(each, { job: large });
      const held = await take();
      expect(held.map(({ jobs }) => jobs.length)).to.deep.equal([1, 1, 0]);
      for (const each of refs.slice(0, 2)) await harness.add(each, { job: large });
      const next = await harness.advance(
        held.map((each) => workedOff(each)),
        many,
      );
      expect(next.materials.map(({ queue, jobs }) => [materialOfQueue(queue).materialId, jobs.length])).to.deep.equal([
        ['VMAT-VAR-3', 1],
        ['VMAT-VAR-1', 1],
        ['VMAT-VAR-2', 0],
      ]);
    });
  });

  describe('a lease', () => {
    it('is renewed from the moment of the renewal', async () => {
      await harness.add(ref);
      const held = await takeOne();
      const beforeMs = await redisNowMs();
      await harness.redis.zadd(keys.scheduled, beforeMs + 5, name);
      await renewLeases(harness.redis, [held]);
      expect((await score(name)) - leaseMs).to.be.within(Math.floor(beforeMs), await redisNowMs());
    });

    it('that has run out is brought back by the sweep, and others are not', async () => {
      await harness.add(ref);
      await harness.add(other);
      const [held] = await take();
      await runOut(name);
      // Otherwise the entry of the announcement would stand there, whatever the sweep does.
      await harness.redis.del(keys.wake);
      expect(await harness.sweep()).to.equal(1);
      expect(await ready()).to.deep.equal([name]);
      expect(await harness.redis.hexists(keys.leases, name)).to.equal(0);
      expect(await harness.redis.llen(keys.wake)).to.equal(1);
      // The late owner is an owner no more, even before the next one takes.
      expect(await harness.advance(held === undefined ? [] : [workedOff(held)])).to.include({ lost: 1 });
    });

    it('of a material whose shop fell out of the rotation brings the shop back', async () => {
      await harness.add(ref);
      await harness.redis.del(keys.ready, keys.wake);
      await runOut(name);
      await harness.sweep();
      expect(await take()).to.have.length(1);
      expect(await take()).to.deep.equal([]);
      expect(await harness.redis.exists(keys.ready)).to.equal(0);
    });

    it('gives a shop no second place in the rotation, whatever of it the sweep brings back', async () => {
      await harness.add(ref);
      await harness.add(other);
      await harness.add({ shopId: 2, materialId: 'VMAT-VAR-x' });
      for (let time = 0; time < 3; time += 1) {
        await runOut(name);
        await runOut(queueName(other));
        await harness.sweep();
      }
      expect(await harness.redis.lrange(keys.ready, 0, -1)).to.deep.equal(['1', '2']);
    });

    it('since before the clock of Redis went back is brought back by the sweep, and not only when it is there again', async () => {
      await harness.add(ref);
      await harness.add(other);
      await take();
      await harness.redis.zadd(keys.scheduled, (await redisNowMs()) + 60_000, name);
      expect(await harness.sweep()).to.equal(1);
      expect(await ready()).to.deep.equal([name]);
      expect(await harness.redis.hexists(keys.leases, queueName(other)), 'a lease that runs is left').to.equal(1);
    });

    it('of a ready material that nobody takes is announced anew by the sweep', async () => {
      await harness.add(ref);
      await harness.redis.del(keys.ready, `${keys.ready}:1`, keys.wake);
      await runOut(name);
      await harness.sweep();
      expect(await take()).to.have.length(1);
    });
  });

  it('tells which shops wait too long, from when their oldest material was announced until it is taken', async () => {
    await harness.add(ref);
    await harness.add({ shopId: 2, materialId: 'VMAT-VAR-x' });
    const sinceMs = Number(await harness.redis.hget(keys.since, name)) - 2 * lateMs;
    await harness.redis.hset(keys.since, name, sinceMs);
    const [, , ageMs, count, , , ...late] = (await runScript(harness.redis, 'rmStatus', lateMs, '')) as (
      number | string
    )[];
    expect(ageMs).to.be.within(2 * lateMs, (await redisNowMs()) - sinceMs);
    expect(count).to.equal(2);
    expect(late).to.deep.equal(['1']);
    await runOut(name);
    await harness.sweep();
    expect(Number(await harness.redis.hget(keys.since, name)), 'the sweep keeps it').to.equal(sinceMs);
    await take();
    expect(await harness.redis.exists(keys.since)).to.equal(0);
  });

  it('counts workers as long as their heart beats', async () => {
    const live = async () => ((await runScript(harness.redis, 'rmStatus', 3_000, '')) as number[])[1];
    expect(await live()).to.equal(0);
    await runScript(harness.redis, 'rmBeat', 'one', 60_000, '');
    await runScript(harness.redis, 'rmBeat', 'two', 60_000, '');
    expect(await live()).to.equal(2);
    await harness.redis.zadd(keys.workers, 1, 'one');
    expect(await live()).to.equal(1);
    await runScript(harness.redis, 'rmBeat', 'two', 60_000, '');
    expect(await harness.redis.zrange(keys.workers, '0', '-1'), 'the dead are struck off').to.deep.equal(['two']);
    expect(await harness.redis.pttl(keys.workers), 'the last one leaves no key behind').to.be.within(1, 60_000);
    await runScript(harness.redis, 'rmBeat', 'two', 0, '');
    expect(await live()).to.equal(0);
  });

  it('names queues so that they tell shop and material', () => {
    expect(materialOfQueue(queueName({ shopId: 12, materialId: 'VMAT-a-1' }))).to.deep.equal({
      shopId: 12,
      materialId: 'VMAT-a-1',
    });
  });
});
