import { expect } from 'chai';
import { keys, queueName } from '../../shared/queue/names.js';
import { useQueueRoom, workedOff } from '../support/queue-room.js';

const shopId = 1;
const line = `${keys.ready}:${String(shopId)}`;

describe('the place of a material in the line of its shop', () => {
  const room = useQueueRoom();
  const refOf = (index: number) => ({ shopId, materialId: `VMAT-${String(index)}` });
  const addMany = async (count: number) => {
    const refs = Array.from({ length: count }, (_, index) => refOf(index));
    for (const ref of refs) await room.add(ref);
    return refs.map(queueName);
  };
  /** Lets a turn pass in which nobody takes anything, as happens while Postgres is away. */
  const passTurn = async (names: string[]) => {
    for (const name of names) await room.runOut(name);
    expect(await room.sweep()).to.equal(names.length);
  };

  it('is one, however many turns pass in which nobody takes it', async () => {
    const names = await addMany(3);
    for (let turn = 0; turn < 5; turn += 1) await passTurn(names);
    expect(await room.ready(shopId)).to.deep.equal(names);
    expect((await room.take()).map(({ queue }) => queue)).to.deep.equal(names);
  });

  it('is given anew to one that was taken, and whose lease then ran out', async () => {
    const names = await addMany(2);
    await room.take();
    await passTurn(names);
    await passTurn(names);
    expect(await room.ready(shopId)).to.deep.equal(names);
    expect(await room.take()).to.have.length(2);
  });

  it('is given anew where the line is gone, though it is known since when it waits', async () => {
    const names = await addMany(2);
    await room.redis.del(line, keys.ready);
    await passTurn(names);
    expect(await room.take()).to.have.length(2);
  });

  it('goes with whoever looked at it, so that what is no longer ready there comes in again', async () => {
    const [name = ''] = await addMany(1);
    // Taken, and in line a second time, as an older version has it.
    const held = await room.take();
    await room.redis.hset(keys.since, name, '1');
    await room.redis.rpush(line, name);
    await room.redis.rpush(keys.ready, shopId);
    expect(await room.take()).to.deep.equal([]);
    expect(await room.redis.hexists(keys.since, name)).to.equal(0);
    await room.add(refOf(0));
    await room.runOut(name);
    await room.sweep();
    expect(await room.ready(shopId)).to.deep.equal([name]);
    expect(held).to.have.length(1);
  });

  it('is looked for behind those that are no longer ready, a thousand at a time, and another lane is woken for the rest', async () => {
    await room.redis.rpush(line, ...Array.from({ length: 2_500 }, (_, index) => queueName(refOf(-1 - index))));
    await room.redis.rpush(keys.ready, shopId);
    const [name = ''] = await addMany(1);
    await room.redis.del(keys.wake);
    const lengths: number[] = [];
    let held = await room.take();
    while (held.length === 0) {
      lengths.push(await room.redis.llen(line));
      expect(await room.redis.llen(keys.wake)).to.equal(1);
      held = await room.take();
    }
    expect(held.map(({ queue }) => queue)).to.deep.equal([name]);
    expect(lengths).to.have.length(2);
    expect(Math.max(...lengths)).to.be.within(2_501 - 1_000 - 32, 2_501 - 1_000);
    expect((await room.advance(held.map((material) => workedOff(material)))).materials).to.deep.equal([]);
  });
});
