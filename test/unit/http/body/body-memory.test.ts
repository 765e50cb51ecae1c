import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { createBodyMemory } from '../../../../api/http/body/body-memory.js';
import type { BodyPlace } from '../../../../api/http/body/body-memory.js';

const [one, other, third] = [1, 2, 3];
/** A wait that does not end before a test does, and one that does. */
const [longMs, shortMs] = [2_000, 20];

describe('the memory for bodies', () => {
  const memoryOf = (waitMsMax = longMs) => createBodyMemory({ processBytesMax: 100, shopBytesMax: 60, waitMsMax });
  const entered = async (asked: Promise<BodyPlace | undefined>) => {
    const place = await asked;
    if (place === undefined) throw new Error('there was room');
    return place;
  };
  /** Whether it has a place once all who could enter have done so. */
  const isIn = async (asked: Promise<unknown>) => {
    let entered = false;
    void asked.then(() => (entered = true));
    await turn();
    return entered;
  };

  it('of a shop is bounded, and leaves some to others', async () => {
    const memory = memoryOf();
    const held = await entered(memory.enter(one, 60));
    const waits = memory.enter(one, 1);
    await entered(memory.enter(other, 40));
    expect(await isIn(waits)).to.equal(false);
    held.leave();
    expect(await isIn(waits)).to.equal(true);
  });

  it('of all is bounded: who asked first comes first, and who does not fit does not keep out those who do', async () => {
    const memory = memoryOf();
    const held = await entered(memory.enter(one, 60));
    await entered(memory.enter(other, 30));
    const [large, small] = [memory.enter(third, 40), memory.enter(third, 20)];
    held.shrinkTo(40);
    await entered(small);
    expect(await isIn(large)).to.equal(false);
    held.leave();
    await entered(large);
  });

  it('is given back once, however often that is said, and never more than was taken', async () => {
    const memory = memoryOf();
    const held = await entered(memory.enter(one, 60));
    held.shrinkTo(70);
    await entered(memory.enter(other, 40));
    held.shrinkTo(10);
    held.leave();
    held.leave();
    await entered(memory.enter(one, 60));
    expect(await isIn(memory.enter(one, 1))).to.equal(false);
  });

  it('that does not come in time is not given, and then is free for the next', async () => {
    const memory = memoryOf(shortMs);
    const held = await entered(memory.enter(one, 60));
    expect(await memory.enter(one, 1)).to.equal(undefined);
    held.leave();
    await entered(memory.enter(one, 60));
  });
});
