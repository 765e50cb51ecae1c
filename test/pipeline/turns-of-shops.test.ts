import { expect } from 'chai';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, materialOfQueue } from '../../shared/queue/names.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';

describe('the turns of shops', () => {
  const harness = useQueueHarness();

  it('gives shops their turns, whatever one of them has in line', async () => {
    await addOfEach({ 1: 20, 2: 1, 10: 1 });
    expect(countOfShops(await harness.take(6))).to.deep.equal({ 1: 4, 2: 1, 10: 1 });
    expect(await harness.take()).to.have.length(16);
    expect(await harness.redis.exists(keys.ready)).to.equal(0);
  });

  it('gives each shop an equal part of what it takes, and what is left over to those that are next', async () => {
    await addOfEach({ 1: 20, 2: 20, 3: 20 });
    expect(countOfShops(await harness.take(16))).to.deep.equal({ 1: 6, 2: 5, 3: 5 });
    expect(countOfShops(await harness.take(2))).to.deep.equal({ 2: 1, 3: 1 });
  });

  it('of more shops than it has room for takes one each, the others next', async () => {
    const shops = Array.from({ length: 50 }, (_, index) => index + 1);
    await addOfEach(Object.fromEntries(shops.map((shopId) => [shopId, 2])));
    const ofEach = (from: number, to: number) => Object.fromEntries(shops.slice(from, to).map((id) => [id, 1]));
    expect(countOfShops(await harness.take())).to.deep.equal(ofEach(0, 32));
    expect(countOfShops(await harness.take(18))).to.deep.equal(ofEach(32, 50));
    expect(countOfShops(await harness.take())).to.deep.equal(ofEach(0, 32));
  });

  it('looks on past shops that have lost their lists', async () => {
    await harness.redis.rpush(keys.ready, 8, 9);
    await addOfEach({ 1: 1 });
    expect(countOfShops(await harness.take(1))).to.deep.equal({ 1: 1 });
    expect(await harness.redis.exists(keys.ready)).to.equal(0);
  });

  async function addOfEach(counts: Record<number, number>): Promise<void> {
    for (const [shopId, count] of Object.entries(counts))
      for (let index = 0; index < count; index += 1)
        await harness.add({ shopId: Number(shopId), materialId: `VMAT-VAR-${String(index)}` });
  }
});

/** How many of these are of each shop. */
function countOfShops(materials: HeldMaterial[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { queue } of materials) {
    const { shopId } = materialOfQueue(queue);
    counts[shopId] = (counts[shopId] ?? 0) + 1;
  }
  return counts;
}
