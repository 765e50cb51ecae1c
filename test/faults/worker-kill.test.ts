import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import type { FaultRound } from '../support/faults/fault-rounds.js';
import { connectForTest } from '../support/database/database.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import type { Proc } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';

/** Every marked place in a worker's cycle, in its order. */
const places = [
  'after-take',
  'after-begin',
  'after-lock',
  'mid-fold!sync',
  'before-commit',
  'at-commit!sync',
  'after-commit',
  'after-reply',
];
/**
 * A wave is half of these kills. No other begins while the service recovers from it, because a second kill of what the
 * first one hit would make its recovery look longer than it is.
 */
const kills = [...places.slice(0, 4), 'at random', ...places.slice(4), 'at random'];
const killsAWave = 5;
const randomMsMax = 300;
const waitMsMax = 10_000;

describe('T3: workers killed with −9', () => {
  let service: Service;
  let database: Database;
  /** The workers that no fail-point will kill. */
  let standing: Set<Proc>;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    standing = new Set(service.workers);
    database = connectForTest(service.databaseUrl);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('at every marked place, and at random, lose nothing that was acknowledged and apply nothing twice', async () => {
    const size = sizeOf({ small: 10, long: 1_000 });
    await runFaultRounds(
      { test: 'T3', unit: 'kills', size, service, database, faultsARound: 20, recoveryMsMax: 6_000 },
      async (run) => {
        while (run.left() > 0) {
          const first = run.made() % kills.length;
          const wave = kills.slice(first, first + Math.min(killsAWave, run.left()));
          const atPlaces = wave.filter((kill) => kill !== 'at random').map((place) => killAt(place, run));
          const isWhole = wave.length > atPlaces.length;
          await Promise.all([...atPlaces, ...(isWhole ? [killAtRandom(run, Promise.race(atPlaces))] : [])]);
          await run.recovered();
        }
      },
    );
  });

  async function killAt(place: string, run: FaultRound): Promise<void> {
    const doomed = await service.startWorker({ FAIL_POINTS: `${place}=kill:${String(1 + run.dice.below(10))}` });
    await Promise.all([doomed.fired(place), doomed.exited.then(run.noteFault)]);
    run.add();
  }

  /** Kills soon after another kill, so that the wave is short and its kills meet what the first one left behind. */
  async function killAtRandom(run: FaultRound, anotherKill: Promise<void>): Promise<void> {
    const [victim] = standing;
    if (victim === undefined) throw new Error('no worker stands that could be killed');
    standing.delete(victim);
    const replaced = service.startWorker().then((worker) => standing.add(worker));
    const killed = anotherKill
      .then(() => delay(run.dice.below(randomMsMax)))
      .then(() => {
        run.noteFault();
        victim.kill('SIGKILL');
        return victim.exited;
      });
    await Promise.all([replaced, killed]);
    run.add();
  }

  it('with a request in hand leave it to another worker, which answers within the wait', async () => {
    for (const place of ['before-commit', 'after-commit']) {
      const shop = await createTestShop(database);
      const doomed = await service.startWorker({ FAIL_POINTS: `${place}=kill:1` });
      await freezeWorkers(service, [...standing]);
      const [baseUrl = ''] = service.baseUrls;
      const sentMs = performance.now();
      const asked = addOne(baseUrl, shop);
      await doomed.fired(place);
      for (const worker of standing) worker.kill('SIGCONT');
      expect((await asked).status, place).to.equal(200);
      expect(performance.now() - sentMs).to.be.below(waitMsMax);
      expect(await totalOf(database, shop)).to.equal(1);
      // It has announced its end, but may not have come to it, since the answer need not wait for that.
      await doomed.exited;
    }
  });
});
