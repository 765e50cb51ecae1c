import { expect } from 'chai';
import { cancelOperations } from '../../shared/database/operations.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { applyAsLane } from '../support/shop/apply-as-lane.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';

const deliveriesMax = 25;

describe('operations whose deliveries are exhausted', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  it('are recorded and counted as failed, but not those that were cancelled meanwhile', async () => {
    const { database } = postgres;
    const { shopId, materialIds, locationIds } = await createTestShop(database);
    const ref = { shopId, materialId: materialIds[0] ?? '' };
    const book = () => operationOf({ kind: 'adjust', rows: [{ locationId: locationIds[0] ?? '', delta: 1 }] });
    const [cancelled, exhausted] = [book(), book()];
    await cancelOperations(database, [{ ...ref, id: cancelled.id }]);

    const metrics = createWorkerMetrics();
    const { outcomes } = await applyAsLane(database, [{ ...ref, operations: [cancelled, exhausted] }], {
      deliveries: deliveriesMax + 1,
      metrics,
    });

    expect(outcomes.get(cancelled.id)).to.deep.equal({ status: 'cancelled' });
    expect(outcomes.get(exhausted.id)).to.deep.equal({ status: 'failed' });
    expect(await metrics.registry.metrics()).to.match(/^raw_materials_operations_total\{outcome="failed"\} 1$/m);
  });
});
