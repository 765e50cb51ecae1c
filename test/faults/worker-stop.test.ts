import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import type { FaultRun } from '../support/faults/fault-run.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import type { Proc } from '../support/processes/service-process.js';
import { totalOf, addOne } from '../support/shop/change.js';
import { createTestShop } from '../support/shop/shop.js';

/** Where a worker that stands still and comes back could do the most harm. */
const places = ['after-take', 'after-lock', 'before-commit', 'at-commit!sync', 'after-commit'];

describe('T7: workers stopped past their lease that go on afterwards', () => {
  let service: Service;
  let database: Database;
  // A wait of five leases in a row: what one stopped worker had, another may take, and stop with it as well.
  const apiEnv = { WAIT_MS: '21500', SHUTDOWN_TIMEOUT_MS: '24500' };
  useService({ apis: 2, workers: 1, apiEnv }, (started) => ({ service, database } = started));

  it('at five places under load: everything is applied once, in an order that agrees with every answer', async () => {
    const size = sizeOf({ small: 5, long: 300 });
    await runFaultRounds({ test: 'T7', unit: 'stops', size, service, database, faultsARound: 20 }, async (run) => {
      while (run.left() > 0) {
        const wave = places.slice(0, run.left());
        const zombies = await Promise.all(wave.map((place) => stopAt(place, run)));
        // What the stopped had in hand is answered by others, once their leases have run out.
        const inHand = [...run.load.open()];
        await run.recovered();
        for (const { attempts, tag } of inHand) expect(attempts[0]?.answer?.status, tag).to.be.oneOf([200, 400, 404]);
        await Promise.all(zombies.map((zombie) => zombie.goOn()));
        await run.progress(300);
        expect(zombies.map((zombie) => zombie.hasExited())).to.deep.equal(zombies.map(() => false));
        await Promise.all(zombies.map(stopProcess));
        run.add(wave.length);
      }
    });
  });

  async function stopAt(place: string, run: FaultRun): Promise<Proc> {
    const zombie = await service.startWorker({ FAIL_POINTS: `${place}=stop:${String(1 + run.dice.below(10))}` });
    await zombie.fired(place);
    run.noteFault();
    return zombie;
  }

  it('alone: the request in hand is answered by another worker, and the late one changes nothing', async () => {
    for (const place of ['at-commit!sync']) {
      const shop = await createTestShop(database);
      const standing = service.workers.filter((worker) => !worker.hasExited());
      const zombie = await service.startWorker({ FAIL_POINTS: `${place}=stop:1` });
      await freezeWorkers(service, standing);
      const asked = addOne(service.baseUrls[0] ?? '', shop);
      await zombie.fired(place);
      for (const worker of standing) worker.kill('SIGCONT');
      expect((await asked).status, place).to.equal(200);
      await zombie.goOn();
      for (let count = 0; count < 20; count += 1) {
        expect((await addOne(service.baseUrls[1] ?? '', shop)).status).to.equal(200);
      }
      expect(await totalOf(database, shop)).to.equal(21);
    }
  });
});
