import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { connectForTest, startFaultRun } from '../support/fault-run.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { totalOf, addOne } from '../support/change.js';
import { createTestShop } from '../support/shop.js';
import { until } from '../support/until.js';

/** Where a worker that stands still and comes back could do the most harm. */
const places = ['after-take', 'after-lock', 'before-commit', 'at-commit', 'after-commit'];
/** The whole wait and its grace: had nobody taken over, they would be answered 503 by then. */
const takenOverMsMax = 12_000;

describe('T7: workers stopped past their lease that go on afterwards', () => {
  let service: Service;
  let database: Database;
  before(async () => {
    service = await startService({ apis: 2, workers: 1 });
    database = connectForTest(service.databaseUrl);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('at five places under load: everything is applied once, in an order that agrees with every answer', async () => {
    const run = await startFaultRun({ title: 'T7', service, database });
    await run.progress(200);
    const zombies = await Promise.all(
      places.map((place) => service.startWorker({ FAIL_POINTS: `${place}=stop:${String(1 + run.dice.below(10))}` })),
    );
    await Promise.all(zombies.map((zombie, index) => zombie.fired(places[index] ?? '')));
    // What the stopped had in hand is answered by others, once their leases have run out.
    const inHand = run.load.history.intents.filter(({ attempts }) => attempts.length === 0);
    await until(() => inHand.every(({ attempts }) => attempts.length > 0), {
      deadlineMs: takenOverMsMax,
      what: 'the requests in hand to be answered',
    });
    for (const { attempts, tag } of inHand) expect(attempts[0]?.answer?.status, tag).to.be.oneOf([200, 400, 404]);
    for (const zombie of zombies) zombie.kill('SIGCONT');
    await run.progress(300);
    await run.judge();
    expect(zombies.map((zombie) => zombie.hasExited())).to.deep.equal(zombies.map(() => false));
  });

  it('alone: the request in hand is answered by another worker, and the late one changes nothing', async () => {
    for (const place of ['at-commit']) {
      const shop = await createTestShop(database);
      const standing = service.workers.filter((worker) => !worker.hasExited());
      const zombie = await service.startWorker({ FAIL_POINTS: `${place}=stop:1` });
      for (const worker of standing) worker.kill('SIGSTOP');
      const asked = addOne(service.baseUrls[0] ?? '', shop);
      await zombie.fired(place);
      for (const worker of standing) worker.kill('SIGCONT');
      expect((await asked).status, place).to.equal(200);
      zombie.kill('SIGCONT');
      for (let count = 0; count < 20; count += 1) {
        expect((await addOne(service.baseUrls[1] ?? '', shop)).status).to.equal(200);
      }
      expect(await totalOf(database, shop)).to.equal(21);
    }
  });
});
