import { expect } from 'chai';
import { pino } from 'pino';
import { keyMemoryMsDefault } from '../../shared/inventory/time-limits.js';
import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName } from '../../shared/queue/names.js';
import { applyJobs } from '../../worker/apply-jobs.js';
import type { WorkerDeps } from '../../worker/deps.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { useDatabase } from '../support/database.js';
import { createTestShop, operationOf } from '../support/shop.js';

/** As many connections as a transaction is tried over before its materials are given back. */
const connections = 3;

describe('a worker beside which a newer version has changed the type of a column', () => {
  const postgres = useDatabase({ poolMax: connections, pipeline: true });

  it('fails no operation for the plans that its connections have kept', async () => {
    const { database } = postgres;
    const { shopId, materialIds } = await createTestShop(database, { materials: connections });
    const deps = {
      database,
      logger: pino({ level: 'silent' }),
      keyMemoryMs: keyMemoryMsDefault,
      metrics: createWorkerMetrics(),
      ledgerWatch: { changed: () => undefined },
    } as unknown as WorkerDeps;
    const update = async (materialId: string) => {
      const operation = operationOf({ kind: 'update', changes: { sku: 'S' } });
      const content = operationsJob('nobody', [operation]);
      const job = { id: operation.id, queue: queueName({ shopId, materialId }), deliveries: 1, weight: 1, content };
      const { outcomes } = await applyJobs(deps, [job], {
        nowMs: Date.now(),
        sinceSentMs: () => 0,
        goesOn: () => true,
      });
      return outcomes.get(operation.id)?.status;
    };
    await Promise.all(materialIds.map(update));
    await database.raw('ALTER TABLE materials ALTER COLUMN unit_cost TYPE numeric(18, 6)');
    // A lane that gives its materials back comes to them again.
    const [materialId = ''] = materialIds;
    const first = await update(materialId).catch((error: unknown) => error);
    expect(first).to.satisfy(
      (status: unknown) => status === 'executed' || (status as { code: string }).code === '0A000',
    );
    expect(await update(materialId)).to.equal('executed');
  });
});
