import { expect } from 'chai';
import { giveBack, leaseMs } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { operationsJob } from '../../shared/queue/job-format.js';
import { keys, materialOfQueue, queueName } from '../../shared/queue/names.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';

const many = 32;

describe('the step of a lane from one cycle to the next', () => {
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

  it('finishes what was done, and hands out what has come since under the same lease', async () => {
    await harness.add(ref);
    const held = await takeOne();
    const second = await harness.add(ref);
    // About to run out.
    await harness.redis.zadd(keys.scheduled, Date.now() + 5, name);
    const { materials, lost, nowMs } = await harness.advance([workedOff(held)], many);
    expect(lost).to.equal(0);
    const deadlineMs = Number(await harness.redis.zscore(keys.scheduled, name));
    expect(deadlineMs - nowMs(), 'a whole lease from now').to.equal(leaseMs);
    expect(materials.map(({ queue, token, jobs }) => [queue, token, jobs.map(({ id }) => id)])).to.deep.equal([
      [name, held.token, [second]],
    ]);
    expect(await harness.jobs(ref, 'active')).to.deep.equal([second]);
  });

  it('takes others only into the room that is left, under another token', async () => {
    const held = await fill(3);
    for (const { queue } of held) await harness.add(materialOfQueue(queue));
    for (let index = 0; index < 5; index += 1)
      await harness.add({ shopId: 2, materialId: `VMAT-VAR-${String(index)}` });
    const { materials } = await harness.advance(
      held.map((each) => workedOff(each)),
      4,
    );
    expect(materials.map(({ queue }) => materialOfQueue(queue).shopId)).to.deep.equal([1, 1, 1, 2]);
    expect(materials[3]?.token).to.not.equal(held[0]?.token);
  });

  it('keeps half of its busy materials and puts the others in line, while anything else is ready', async () => {
    const held = await fill(many);
    for (const { queue } of held) await harness.add(materialOfQueue(queue));
    for (let index = 0; index < 4; index += 1)
      await harness.add({ shopId: 2, materialId: `VMAT-VAR-${String(index)}` });
    const { materials } = await harness.advance(
      held.map((each) => workedOff(each)),
      many,
    );
    const shops = materials.map(({ queue }) => materialOfQueue(queue).shopId);
    expect(shops.slice(0, 16), 'those it keeps').to.deep.equal(Array(16).fill(1));
    const taken = shops.slice(16);
    expect(
      taken.filter((shopId) => shopId === 2),
      'the other shop has its turn',
    ).to.have.length(4);
    expect(taken, 'nothing is left out while there is room').to.have.length(many - 16);
    // Those that were put in line and taken again in the same step are under another lease than before.
    const tokens = Object.fromEntries(materials.map(({ queue, token }) => [queue, token]));
    expect(await harness.redis.hgetall(keys.leases)).to.deep.equal(tokens);
  });

  it('of a lane that ends takes nothing, and counts no delivery of what it gives back', async () => {
    await harness.add(ref);
    const held = await takeOne();
    const second = await harness.add(ref);
    await harness.add(other);
    const { materials } = await harness.advance([workedOff(held)], 0);
    expect(materials.map(({ queue, jobs }) => [queue, jobs])).to.deep.equal([[name, []]]);
    await giveBack(harness.redis, materials, 0, 'counted');
    expect((await take()).find(({ queue }) => queue === name)?.jobs).to.deep.include({
      id: second,
      deliveries: 1,
      data: JSON.stringify(operationsJob('test', [])),
    });
  });

  it('leaves what an answer has no room for in its order, to come next', async () => {
    const large = { ...operationsJob('test', []), filling: 'x'.repeat(5 * 1_024 * 1_024) };
    const jobs = [];
    for (let index = 0; index < 4; index += 1) jobs.push(await harness.add(ref, { job: large }));
    const held = await takeOne();
    expect(held.jobs.map(({ id }) => id)).to.deep.equal(jobs.slice(0, 2));
    expect(await harness.jobs(ref, 'wait')).to.deep.equal(jobs.slice(2));
    const [next] = (await harness.advance([workedOff(held)], many)).materials;
    expect(next?.jobs.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal(jobs.slice(2).map((id) => [id, 1]));
  });

  /** Takes so many materials of shop 1, each with a job. */
  async function fill(count: number): Promise<HeldMaterial[]> {
    for (let index = 0; index < count; index += 1)
      await harness.add({ shopId: 1, materialId: `VMAT-VAR-${String(index)}` });
    return take(count);
  }
});
