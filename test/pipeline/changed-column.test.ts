import { expect } from 'chai';
import { applyAsLane } from '../support/shop/apply-as-lane.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';

/** A transaction is tried over this many connections before its materials are given back. */
const connections = 3;

describe('a worker beside which a newer version has changed the type of a column', () => {
  const postgres = useDatabase({ poolMax: connections, pipeline: true });

  it('fails no operation for the plans that its connections have kept', async () => {
    const { database } = postgres;
    const { shopId, materialIds } = await createTestShop(database, { materials: connections });
    let updates = 0;
    const update = async (materialId: string) => {
      const operation = operationOf({ kind: 'update', changes: { sku: `S-${String((updates += 1))}` } });
      const { outcomes } = await applyAsLane(database, [{ shopId, materialId, operations: [operation] }]);
      return outcomes.get(operation.id)?.status;
    };
    await Promise.all(materialIds.map(update));
    await database.raw('ALTER TABLE materials ALTER COLUMN unit_cost TYPE numeric(18, 6)');
    // If it fails, a lane gives its materials back and comes to them again.
    const [materialId = ''] = materialIds;
    const first = await update(materialId).catch((error: unknown) => error);
    expect(first).to.satisfy(
      (status: unknown) => status === 'executed' || (status as { code: string }).code === '0A000',
    );
    expect(await update(materialId)).to.equal('executed');
  });
});
