import { expect } from 'chai';
import { pino } from 'pino';
import { cancelOperations } from '../../shared/database/operations.js';
import { jobVersion } from '../../shared/queue/job-format.js';
import { queueName } from '../../shared/queue/names.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { applyAsLane } from '../support/shop/apply-as-lane.js';
import { withLockedMaterial } from '../support/database/broken-storage.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';

const deliveriesMax = 25;

describe('operations of a job whose deliveries are exhausted, or whose version is unknown', () => {
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

  it('are told with their reason once recorded, and not while another session holds their material', async () => {
    const { database } = postgres;
    const { shopId, materialIds, locationIds } = await createTestShop(database);
    const ref = { shopId, materialId: materialIds[0] ?? '' };
    const book = () => operationOf({ kind: 'adjust', rows: [{ locationId: locationIds[0] ?? '', delta: 1 }] });
    const [exhausted, unknown] = [book(), book()];
    const jobs = [
      { ...ref, operations: [exhausted] },
      { ...ref, operations: [unknown], version: jobVersion + 1 },
    ];
    const told: { msg: string; err: string; operations: { id: string }[] }[] = [];
    const logger = pino(
      { level: 'error' },
      { write: (line: string) => told.push(JSON.parse(line) as (typeof told)[0]) },
    );
    const apply = () => applyAsLane(database, jobs, { deliveries: deliveriesMax + 1, logger });
    const { leftOut } = await withLockedMaterial(database, ref, apply);
    expect([...leftOut]).to.deep.equal([queueName(ref)]);
    expect(told).to.deep.equal([]);
    await apply();
    const message = 'Operations are recorded as failed.';
    expect(told.map(({ msg, err, operations }) => [msg, err, operations.map(({ id }) => id)])).to.deep.equal([
      [message, 'the version of their job is unknown to this worker', [unknown.id]],
      [message, 'the deliveries of their job are exhausted', [exhausted.id]],
    ]);
  });

  it('are none of those that come for the last time: these are applied', async () => {
    const { shopId, materialIds, locationIds } = await createTestShop(postgres.database);
    const last = operationOf({ kind: 'adjust', rows: [{ locationId: locationIds[0] ?? '', delta: 1 }] });
    const materials = [{ shopId, materialId: materialIds[0] ?? '', operations: [last] }];
    const { outcomes } = await applyAsLane(postgres.database, materials, { deliveries: deliveriesMax });
    expect(outcomes.get(last.id)).to.include({ status: 'executed' });
  });
});

describe('an operation that is on record in words of a later version, beside which this one runs', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  it('is neither applied nor answered, and keeps no other operation from either', async () => {
    const { database } = postgres;
    const { shopId, materialIds, locationIds } = await createTestShop(database);
    const ref = { shopId, materialId: materialIds[0] ?? '' };
    const book = () => operationOf({ kind: 'adjust', rows: [{ locationId: locationIds[0] ?? '', delta: 1 }] });
    const [unknown, applied, open] = [book(), book(), book()];
    // As a later migration would let it.
    await database.raw('ALTER TABLE operations DROP CONSTRAINT operations_status_known');
    await database.raw(
      `INSERT INTO operations (op_id, shop_id, material_id, status, recorded_at) VALUES (?, ?, ?, 'merged', now())`,
      [unknown.id, shopId, ref.materialId],
    );

    const { outcomes, leftOut } = await applyAsLane(database, [{ ...ref, operations: [unknown, applied] }]);
    expect([...outcomes.keys()]).to.deep.equal([applied.id]);
    expect([...leftOut], 'or its material would wait for as long as the row is there').to.deep.equal([]);
    const { rows } = await database.raw<{ rows: object[] }>('SELECT op_id FROM ledger WHERE shop_id = ?', [shopId]);
    expect(rows).to.deep.equal([{ op_id: applied.id }]);

    const cancelled = await cancelOperations(
      database,
      [unknown, open].map(({ id }) => ({ ...ref, id })),
    );
    expect([...cancelled.outcomes]).to.deep.equal([[open.id, { status: 'cancelled' }]]);
  });
});
