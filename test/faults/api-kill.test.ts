import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../shared/database/connect.js';
import { runFaultRounds } from '../support/faults/fault-rounds.js';
import type { FaultRound } from '../support/faults/fault-rounds.js';
import { connectForTest } from '../support/database/database.js';
import { sizeOf } from '../support/long-run/long-run.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import type { Proc } from '../support/processes/service-process.js';

/** Right after an enqueue, or at random: that kills one of the two that stand and adds another. Some at a time. */
const kills = ['after-add', 'at random', 'after-add', 'after-add', 'at random'];
const killsAWave = 2;
const randomMsMax = 300;

describe('T4: API processes killed with −9', () => {
  let service: Service;
  let database: Database;
  /** The processes that no fail-point will kill. */
  let standing: Set<Proc>;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    standing = new Set(service.apis);
    database = connectForTest(service.databaseUrl);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('right after an enqueue, and at random: what they left open settles by its key', async () => {
    const size = sizeOf({ small: 5, long: 300 });
    await runFaultRounds({ test: 'T4', unit: 'kills', size, service, database, faultsARound: 20 }, async (run) => {
      while (run.left() > 0) {
        const first = run.made() % kills.length;
        const wave = kills.slice(first, first + Math.min(killsAWave, run.left()));
        await Promise.all(wave.map((kill) => (kill === 'at random' ? killAtRandom(run) : killAfterAdd(run))));
        await run.recovered();
      }
    });
  });

  async function killAfterAdd(run: FaultRound): Promise<void> {
    const doomed = await service.startApi({ FAIL_POINTS: `after-add=kill:${String(1 + run.dice.below(30))}` });
    await Promise.all([doomed.fired('after-add'), doomed.exited.then(run.noteFault)]);
    run.add();
  }

  async function killAtRandom(run: FaultRound): Promise<void> {
    // Taken out at once, so that no other kill of the wave chooses it too, and one is left for the clients.
    const [victim] = standing;
    if (victim === undefined) throw new Error('no process stands that could be killed');
    standing.delete(victim);
    standing.add(await service.startApi());
    await delay(run.dice.below(randomMsMax));
    run.noteFault();
    victim.kill('SIGKILL');
    await victim.exited;
    run.add();
  }
});
