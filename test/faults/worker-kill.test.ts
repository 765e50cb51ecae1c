import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/change.js';
import { connectForTest, startFaultRun } from '../support/fault-run.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { createTestShop } from '../support/shop.js';

/** Every marked place in a worker's cycle, in its order. */
const places = [
  'after-take',
  'after-begin',
  'after-lock',
  'mid-fold!sync',
  'before-commit',
  'at-commit',
  'after-commit',
  'after-reply',
];
const waitMsMax = 10_000;

describe('T3: workers killed with −9', () => {
  let service: Service;
  let database: Database;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    database = connectForTest(service.databaseUrl);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('at every marked place, and at random, lose nothing that was acknowledged and apply nothing twice', async () => {
    const run = await startFaultRun({ title: 'T3', service, database });
    await run.progress(200);
    const passes = places.map(() => 1 + run.dice.below(10));
    const doomed = await Promise.all(
      places.map((place, index) => service.startWorker({ FAIL_POINTS: `${place}=kill:${String(passes[index])}` })),
    );
    await Promise.all(doomed.map((worker, index) => worker.fired(places[index] ?? '')));
    await Promise.all(doomed.map(({ exited }) => exited));
    const victims = service.workers.filter((worker) => !worker.hasExited());
    await Promise.all(victims.map(() => service.startWorker()));
    for (const victim of victims) {
      await run.progress(run.dice.below(100));
      victim.kill('SIGKILL');
      await victim.exited;
    }
    await run.progress(100);
    await run.judge();
  });

  it('with a request in hand leave it to another worker, which answers within the wait', async () => {
    for (const place of ['before-commit', 'after-commit']) {
      const shop = await createTestShop(database);
      const standing = service.workers.filter((worker) => !worker.hasExited());
      const doomed = await service.startWorker({ FAIL_POINTS: `${place}=kill:1` });
      for (const worker of standing) worker.kill('SIGSTOP');
      const [baseUrl = ''] = service.baseUrls;
      const sentMs = performance.now();
      const asked = addOne(baseUrl, shop);
      await doomed.fired(place);
      for (const worker of standing) worker.kill('SIGCONT');
      expect((await asked).status, place).to.equal(200);
      expect(performance.now() - sentMs).to.be.below(waitMsMax);
      expect(await totalOf(database, shop)).to.equal(1);
    }
  });
});
