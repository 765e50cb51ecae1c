import { expect } from 'chai';
import { keys, queueName } from '../../shared/queue/names.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';

const shopId = 1;
const line = `${keys.ready}:${String(shopId)}`;

describe('the place of a material in the line of its shop', () => {
  const harness = useQueueHarness();
  const refOf = (index: number) => ({ shopId, materialId: `VMAT-${String(index)}` });
  const addMany = async (count: number) => {
    const refs = Array.from({ length: count }, (_, index) => refOf(index));
    for (const ref of refs) await harness.add(ref);
    return refs.map(queueName);
  };
  /** Lets a turn pass in which nobody takes anything, as happens while Postgres is away. */
  const passTurn = async (names: string[]) => {
    for (const name of names) await harness.runOut(name);
    expect(await harness.sweep()).to.equal(names.length);
  };

  it('is one, however many turns pass in which nobody takes it', async () => {
    const names = await addMany(3);
    for (let turn = 0; turn < 5; turn += 1) await passTurn(names);
    expect(await harness.ready(shopId)).to.deep.equal(names);
    expect((await harness.take()).map(({ queue }) => queue)).to.deep.equal(names);
  });

  it('is given anew to one that was taken, and whose lease then ran out', async () => {
    const names = await addMany(2);
    await harness.take();
    await passTurn(names);
    await passTurn(names);
    expect(await harness.ready(shopId)).to.deep.equal(names);
    expect(await harness.take()).to.have.length(2);
  });

  it('is given anew where the line is gone, though it is known since when it waits', async () => {
    const names = await addMany(2);
    await harness.redis.del(line, keys.ready);
    await passTurn(names);
    expect(await harness.take()).to.have.length(2);
  });

  it('goes with whoever looked at it, so that what is no longer ready there comes in again', async () => {
    const [name = ''] = await addMany(1);
    // Taken, and in line a second time, as an older version has it.
    const held = await harness.take();
    await harness.redis.hset(keys.since, name, '1');
    await harness.redis.rpush(line, name);
    await harness.redis.rpush(keys.ready, shopId);
    expect(await harness.take()).to.deep.equal([]);
    expect(await harness.redis.hexists(keys.since, name)).to.equal(0);
    await harness.add(refOf(0));
    await harness.runOut(name);
    await harness.sweep();
    expect(await harness.ready(shopId)).to.deep.equal([name]);
    expect(held).to.have.length(1);
  });

  it('is looked for behind those that are no longer ready, a thousand at a time, and another lane is woken for the rest', async () => {
    await harness.redis.rpush(line, ...Array.from({ length: 2_500 }, (_, index) => queueName(refOf(-1 - index))));
    await harness.redis.rpush(keys.ready, shopId);
    const [name = ''] = await addMany(1);
    await harness.redis.del(keys.wake);
    const lengths: number[] = [];
    let held = await harness.take();
    while (held.length === 0) {
      lengths.push(await harness.redis.llen(line));
      expect(await harness.redis.llen(keys.wake)).to.equal(1);
      held = await harness.take();
    }
    expect(held.map(({ queue }) => queue)).to.deep.equal([name]);
    expect(lengths).to.have.length(2);
    expect(Math.max(...lengths)).to.be.within(2_501 - 1_000 - 32, 2_501 - 1_000);
    expect((await harness.advance(held.map((material) => workedOff(material)))).materials).to.deep.equal([]);
  });
});
