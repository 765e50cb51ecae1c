import { expect } from 'chai';
import { nothingHeld, takeMaterials } from '../../shared/queue/leases.js';
import type { Held } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { runScript } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { startLane } from '../../worker/lane.js';
import { useDatabase } from '../support/database/database.js';
import { depsOf } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { totalOf } from '../support/shop/change.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';

describe('an idle lane', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 7, materialId: 'VMAT-VAR-a' };
  const other = { shopId: 7, materialId: 'VMAT-VAR-b' };
  const queue = queueName(ref);
  /** How often somebody who waits would be woken. */
  const wakeUps = () => harness.redis.llen(keys.wake);

  /** As they are before something that makes the material ready. */
  const preparations = {
    unannounced: async () => {
      await harness.add(ref, { id: 'job', isAnnounced: false });
    },
    taken: async () => {
      await harness.add(ref);
      await runScript(harness.redis, 'rmAdvance', 1, 'dead.token', 4_000, 64, 1_000_000);
    },
    ready: async () => {
      for (const each of [ref, other]) await harness.add(each);
    },
    'beside one that lived': async () => {
      await harness.add(ref);
      await run('rmBeat', 'dead', 3_000, '');
    },
  };

  for (const [what, prepare, act] of [
    ['an announcement', 'unannounced', () => harness.announce(ref)],
    ['an announcement of what is still queued', 'unannounced', () => run('rmAnnounceQueued', queue, 'job')],
    ['what is given back at once', 'taken', () => run('rmGiveBack', 0, 'uncounted', queue, 'dead.token')],
    ['a sweep that finds a lease that ran out', 'taken', () => harness.runOut(queue).then(() => harness.sweep())],
    ['the burial of who held it', 'taken', () => run('rmBury', 'dead')],
    ['the burial of who was woken and took nothing', 'beside one that lived', () => run('rmBury', 'dead')],
    ['a take that leaves others ready', 'ready', () => harness.take(1)],
  ] as const) {
    it(`is woken by ${what}, once`, async () => {
      await preparations[prepare]();
      await harness.redis.del(keys.wake);
      await act();
      expect(await wakeUps()).to.equal(1);
      await harness.announce({ ...ref, materialId: 'VMAT-VAR-c' });
      expect(await wakeUps(), 'one announcement beside another').to.equal(1);
    });
  }

  it('is not woken by what makes nothing ready', async () => {
    await harness.add(ref);
    await harness.redis.del(keys.wake);
    await run('rmAnnounceQueued', queue, 'gone');
    await run('rmBury', 'nobody');
    await harness.announce(ref);
    await harness.sweep();
    await harness.take();
    expect(await wakeUps()).to.equal(0);
  });

  function run(name: Parameters<typeof runScript>[1], ...args: (string | number)[]): Promise<unknown> {
    return runScript(harness.redis, name, ...args);
  }
});

describe('a lane that has done all there was', () => {
  const harness = useQueueHarness();
  const postgres = useDatabase({ poolMax: 1, pipeline: true });

  it('waits without another look, and works on what was taken for it without one before', async () => {
    const shop = await createTestShop(postgres.database);
    const row = { locationId: shop.locationIds[0] ?? '', delta: 1_000_000 };
    const addJob = () =>
      harness.add(
        { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' },
        { operations: [operationOf({ kind: 'adjust', rows: [row] })] },
      );
    await addJob();
    const presence = await createWorkerPresence(harness.redis);
    let looks = 0;
    const newToken = () => {
      looks += 1;
      return presence.newToken();
    };
    const deps = await depsOf(harness, { database: postgres.database, presence: { ...presence, newToken } });
    /** How often the lane had looked when it waited for the first and the second time. */
    const looksBefore: number[] = [];
    let goOn: (held: Held) => void = () => undefined;
    await new Promise<void>((resolve) => {
      const take = async (): Promise<Held> => {
        looksBefore.push(looks);
        if (looksBefore.length === 1) {
          await addJob();
          return takeMaterials(harness.redis, presence, 1);
        }
        resolve();
        return new Promise((goesOn) => (goOn = goesOn));
      };
      const lane = startLane(deps, { take, close: () => Promise.resolve() });
      after(() => {
        lane.stop();
        goOn(nothingHeld);
        return lane.done;
      });
    });
    expect(await totalOf(postgres.database, shop)).to.equal(2);
    // The take that found the first job, and what ended its cycle; then only what ended that of the second.
    expect(looksBefore).to.deep.equal([2, 3]);
  });
});
