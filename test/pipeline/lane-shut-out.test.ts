import { expect } from 'chai';
import { nothingHeld, takeMaterials } from '../../shared/queue/leases.js';
import { keys, queueName, queuePrefix } from '../../shared/queue/names.js';
import { ServesAnotherDatabase, createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { startLane } from '../../worker/lane.js';
import type { Lane } from '../../worker/lane.js';
import { totalOf } from '../support/shop/change.js';
import { useDatabase } from '../support/database/database.js';
import { depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
/** Jobs of one material that a cycle takes on. */
const jobsACycle = 64;

describe('a lane whose worker is of another database than those who are alive', () => {
  const harness = useQueueHarness();
  const postgres = useDatabase({ poolMax: 3, pipeline: true });
  // One that a failed test has left would keep the process.
  let lane: Lane | undefined;
  afterEach(async () => {
    lane?.stop();
    await lane?.done;
  });

  it('takes nothing until they are gone, and counts no delivery', async () => {
    const shop = await createTestShop(postgres.database);
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    const row = { locationId: shop.locationIds[0] ?? '', delta: 1 };
    const id = await harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [row] })] });
    let asked = 0;
    let isShutOut = true;
    const presence = {
      ...(await createWorkerPresence(harness.redis)),
      assertServes: () => {
        asked += 1;
        if (isShutOut) throw new ServesAnotherDatabase();
      },
    };
    const deps = await depsOf(harness, { database: postgres.database, presence });
    lane = startLane(deps, wakeful);
    await until(() => asked > 3, { deadlineMs: soonMsMax, what: 'the lane to look again' });
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([id]);
    expect(await harness.redis.hlen(keys.leases)).to.equal(0);
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${id}`, 'ats')).to.equal(null);
    // Otherwise it would say so five times a second.
    expect(await deps.metrics.registry.metrics(), 'a fault once').to.match(/^raw_materials_cycle_faults_total 1$/m);
    isShutOut = false;
    await until(async () => (await totalOf(postgres.database, shop)) > 0, { deadlineMs: soonMsMax, what: 'the job' });
  });

  it('gives back what it holds after a cycle, and counts no delivery of that either', async () => {
    const shop = await createTestShop(postgres.database);
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    const row = { locationId: shop.locationIds[0] ?? '', delta: 1 };
    let last = '';
    for (let count = 0; count < jobsACycle + 1; count += 1) {
      last = await harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [row] })] });
    }
    let isShutOut = false;
    const presence = {
      ...(await createWorkerPresence(harness.redis)),
      assertServes: () => {
        if (isShutOut) throw new ServesAnotherDatabase();
      },
    };
    const deps = await depsOf(harness, {
      database: postgres.database,
      presence,
      ledgerWatch: { changed: () => (isShutOut = true), stop: () => Promise.resolve() },
    });
    lane = startLane(deps, wakeful);
    await until(async () => isShutOut && (await harness.redis.hlen(keys.leases)) === 0, {
      deadlineMs: soonMsMax,
      what: 'the lease to be given back, which nobody sweeps here',
    });
    lane.stop();
    await lane.done;
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([last]);
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${last}`, 'ats')).to.equal('0');
  });

  it('gives back what was taken for it while it waited, and counts no delivery of that either', async () => {
    const shop = await createTestShop(postgres.database);
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    const row = { locationId: shop.locationIds[0] ?? '', delta: 1 };
    let isShutOut = false;
    let id = '';
    const presence = {
      ...(await createWorkerPresence(harness.redis)),
      assertServes: () => {
        if (isShutOut) throw new ServesAnotherDatabase();
      },
    };
    const take = async () => {
      if (isShutOut) return nothingHeld;
      isShutOut = true;
      id = await harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [row] })] });
      return takeMaterials(harness.redis, presence, 1);
    };
    const deps = await depsOf(harness, { database: postgres.database, presence });
    lane = startLane(deps, { take, close: () => Promise.resolve() });
    await until(async () => id !== '' && (await harness.redis.hlen(keys.leases)) === 0, {
      deadlineMs: soonMsMax,
      what: 'the lease to be given back, which nobody sweeps here',
    });
    lane.stop();
    await lane.done;
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([id]);
    expect(await harness.redis.hget(`${queuePrefix}:${queueName(ref)}:${id}`, 'ats')).to.equal('0');
    expect(await totalOf(postgres.database, shop)).to.equal(0);
  });
});
