import type { Database } from '../../shared/database/connect.js';
import { connectForTest, startFaultRun } from '../support/fault-run.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';

describe('T4: API processes killed with −9', () => {
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

  it('right after an enqueue, and at random: what they left open settles by its key', async () => {
    const run = await startFaultRun({ title: 'T4', service, database });
    await run.progress(200);
    const passes = [1, 2, 3].map(() => 1 + run.dice.below(30));
    const doomed = await Promise.all(
      passes.map((pass) => service.startApi({ FAIL_POINTS: `after-add=kill:${String(pass)}` })),
    );
    await Promise.all(doomed.map((api) => api.fired('after-add')));
    await Promise.all(doomed.map(({ exited }) => exited));
    const victims = service.apis.filter((api) => !api.hasExited());
    await service.startApi();
    for (const victim of victims) {
      await run.progress(run.dice.below(100));
      victim.kill('SIGKILL');
      await victim.exited;
    }
    await run.progress(100);
    await run.judge();
  });
});
