import { expect } from 'chai';
import { giveBack, renewLeases } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { createDice } from '../support/dice.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';

describe('the scheduling of materials, at random', () => {
  const harness = useQueueHarness();

  it('loses no job, keeps the order of each material and ends without a key, whatever owners do', async () => {
    const dice = createDice('random scheduling');
    const refs = Array.from({ length: 5 }, (_, index) => ({ shopId: 1, materialId: `VMAT-VAR-${String(index)}` }));
    const added = new Map<string, string[]>(refs.map((each) => [queueName(each), []]));
    const applied = new Map<string, string[]>(refs.map((each) => [queueName(each), []]));
    let owners: HeldMaterial[][] = [];
    for (let step = 0; step < 1_500; step += 1) await randomStep(step < 1_000);
    // Owners that vanish leave their leases; in the end each runs out.
    owners = [];
    for (let round = 0; round < 40; round += 1) {
      for (const each of refs)
        if ((await harness.redis.zscore(keys.scheduled, queueName(each))) !== null)
          await harness.runOut(queueName(each));
      await harness.sweep();
      let held = await harness.take();
      while (held.length > 0) held = await advance(held, refs.length, Infinity);
    }
    expect(applied).to.deep.equal(added);
    expect(await pipelineKeys(harness.server.url)).to.deep.equal([]);

    async function randomStep(mayAdd: boolean): Promise<void> {
      const owner = owners.length > 0 ? dice.pick(owners) : [];
      switch (dice.below(8)) {
        case 0:
        case 1: {
          if (!mayAdd) return;
          const each = dice.pick(refs);
          added.get(queueName(each))?.push(await harness.add(each));
          return;
        }
        case 2:
          owners.push(await harness.take(1 + dice.below(3)));
          return;
        case 3:
          // The list changes in place: what an owner holds is what its last step gave it.
          owner.splice(0, owner.length, ...(await advance(owner, dice.below(6))));
          return;
        case 4:
          await renewLeases(harness.redis, owner);
          return;
        case 5:
          await giveBack(harness.redis, owner, dice.below(2) * 100, 'counted');
          return;
        case 6:
          if (dice.chance(0.3)) await harness.runOut(queueName(dice.pick(refs))).then(() => harness.sweep());
          return;
        case 7:
          owners = owners.filter((each) => each !== owner);
          return;
      }
    }

    /** Works as a lane does, maybe with no lease left; `applied` gets what Postgres would take for the first time. */
    async function advance(held: HeldMaterial[], max: number, done = dice.below(4)): Promise<HeldMaterial[]> {
      for (const { queue, jobs } of held) {
        // Postgres decides by what is on record; a zombie's jobs were handed out to it before it lost its lease.
        const isOwner =
          (await harness.redis.hget(keys.leases, queue)) === held.find((each) => each.queue === queue)?.token;
        const finished = applied.get(queue) ?? [];
        for (const { id } of isOwner ? jobs.slice(0, done) : []) if (!finished.includes(id)) finished.push(id);
      }
      // Some die between the commit and the finish.
      if (done !== Infinity && dice.chance(0.1)) return [];
      return (
        await harness.advance(
          held.map((each) => workedOff(each, done)),
          max,
        )
      ).materials;
    }
  });
});
