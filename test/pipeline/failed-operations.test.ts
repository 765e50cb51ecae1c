import { expect } from 'chai';
import { pino } from 'pino';
import { cancelOperations } from '../../shared/database/operations.js';
import { keyMemoryMsDefault } from '../../shared/inventory/time-limits.js';
import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName } from '../../shared/queue/names.js';
import { applyJobs } from '../../worker/apply-jobs.js';
import type { WorkerDeps } from '../../worker/deps.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { useDatabase } from '../support/database.js';
import { createTestShop, operationOf } from '../support/shop.js';

const deliveriesMax = 25;

describe('operations whose deliveries are exhausted', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  it('are recorded and counted as failed, but not those that were withdrawn meanwhile', async () => {
    const { database } = postgres;
    const { shopId, materialIds, locationIds } = await createTestShop(database);
    const ref = { shopId, materialId: materialIds[0] ?? '' };
    const book = () => operationOf({ kind: 'adjust', rows: [{ locationId: locationIds[0] ?? '', delta: 1 }] });
    const [withdrawn, exhausted] = [book(), book()];
    await cancelOperations(database, [{ ...ref, id: withdrawn.id }]);

    const metrics = createWorkerMetrics();
    const deps = {
      database,
      metrics,
      logger: pino({ level: 'silent' }),
      keyMemoryMs: keyMemoryMsDefault,
      ledgerWatch: { changed: () => undefined },
    } as unknown as WorkerDeps;
    const content = operationsJob('nobody', [withdrawn, exhausted]);
    const job = { id: 'job', queue: queueName(ref), deliveries: deliveriesMax + 1, content, weight: 2 };
    const taken = { nowMs: Date.now(), sinceSentMs: () => 0, goesOn: () => true };
    const { outcomes } = await applyJobs(deps, [job], taken);

    expect(outcomes.get(withdrawn.id)).to.deep.equal({ status: 'cancelled' });
    expect(outcomes.get(exhausted.id)).to.deep.equal({ status: 'failed' });
    expect(await metrics.registry.metrics()).to.match(/^raw_materials_operations_total\{outcome="failed"\} 1$/m);
  });
});
