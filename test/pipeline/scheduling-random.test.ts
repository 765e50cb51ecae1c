import { expect } from 'chai';
import { giveBack, recoverJobs, renewLeases } from '../../shared/queue/leases.js';
import type { HeldMaterial } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { createDice } from '../support/dice.js';
import { openQueueRoom } from '../support/queue-room.js';
import type { QueueRoom } from '../support/queue-room.js';
import { pipelineKeys } from '../support/redis-keys.js';
import { startTestRedis } from '../support/servers.js';
import type { TestRedis } from '../support/servers.js';

describe('the scheduling of materials, at random', () => {
  let server: TestRedis;
  let room: QueueRoom;
  before(async () => {
    server = await startTestRedis();
    room = await openQueueRoom(server.url);
  });
  after(async () => {
    room.close();
    await server.stop();
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
      for (const each of refs)
        if ((await room.redis.zscore(keys.scheduled, queueName(each))) !== null) await room.runOut(queueName(each));
      await room.sweep();
      for (const held of await room.take()) await workOff(held, Infinity);
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
          owners.push(await room.take(1 + dice.below(3)));
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
          if (dice.chance(0.3)) await room.runOut(queueName(dice.pick(refs))).then(() => room.sweep());
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
        const job = await room.fetch(held.queue, held.token);
        if (job === undefined) break;
        if (!finished.includes(job.id)) finished.push(job.id);
        // Some die between the commit and the finish.
        if (dice.chance(0.9)) await room.finish(held.queue, job.id, held.token);
      }
      await room.release([held]);
    }
  });
});
