import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { findMaterial } from '../../shared/database/materials.js';
import type { Operation, OperationOutcome } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { operationExpiryMs } from '../../shared/inventory/time-limits.js';
import { totalOf } from '../support/change.js';
import { createTestDatabase } from '../support/servers.js';
import type { TestDatabase } from '../support/servers.js';
import { createTestShop, operationOf } from '../support/shop.js';
import type { TestShop } from '../support/shop.js';

describe('what the apply step looks at before the rules', () => {
  let server: TestDatabase;
  let database: Database;
  let shop: TestShop;
  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase({ url: server.url, poolMax: 2, applicationName: 'test', pipeline: true });
  });
  after(async () => {
    await database.destroy();
    await server.drop();
  });
  beforeEach(async () => (shop = await createTestShop(database)));

  const book = (units: number, more: Partial<Operation> = {}) =>
    operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(units) }] }, more);
  const apply = async (materialId: string, ...operations: Operation[]): Promise<(OperationOutcome | undefined)[]> => {
    const groups = [{ shopId: shop.shopId, materialId, operations }];
    const { outcomes } = await applyOperations(database, groups, { nowMs: Date.now() });
    return operations.map(({ id }) => outcomes.get(id));
  };

  it('is the key: also an attempt that came too late to run by itself is answered what the first did', async () => {
    const [materialId = ''] = shop.materialIds;
    const idempotency = { scope: '05', requestHash: 'aa' };
    await apply(materialId, book(3, { idempotency }));
    const tooLate = Date.now() - operationExpiryMs - 1;
    const [late] = await apply(materialId, book(3, { idempotency, acceptedAtMs: tooLate }));
    expect(late).to.deep.include({ status: 'executed', replayed: true });
    expect(await totalOf(database, shop)).to.equal(3);
  });

  it('is whose the material is: neither stock nor fields of a platform material change, whoever asks', async () => {
    const id = '4711';
    await createMaterials(database, shop.shopId, [
      { id, origin: 'platform', productName: 'Theirs', mirroredQuantity: toMicros(7) },
    ]);
    const before = await findMaterial(database, shop.shopId, id);
    const changes = { productName: 'Ours', inventoryQuantity: toMicros(1) };
    for (const outcome of await apply(id, book(1), operationOf({ kind: 'update', changes }))) {
      expect(outcome).to.have.nested.property('result.code', 'INVALID_INPUT');
    }
    expect(await findMaterial(database, shop.shopId, id)).to.deep.equal(before);
  });
});
