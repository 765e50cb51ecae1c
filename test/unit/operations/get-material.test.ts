import { expect } from 'chai';
import type { Caller } from '../../../api/caller.js';
import { getMaterial } from '../../../api/operations/get-material.js';
import type { Services } from '../../../api/services.js';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { succeed } from '../../../shared/domain/errors.js';
import { useDatabase } from '../../support/database/database.js';
import { racingReads } from '../../support/database/racing-database.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('a material with its connections', () => {
  const postgres = useDatabase();

  it('counts those that it shows, also where a bill comes between the two statements', async () => {
    const { shopId, materialIds } = await createTestShop(postgres.database);
    const [materialId = ''] = materialIds;
    const components = [{ materialId, quantity: 1_000_000 }];
    const database = racingReads(postgres.database, () =>
      createBill(postgres.database, shopId, { id: 'B1', kind: 'bill_of_materials', name: 'Salad', components }),
    );
    const services = {
      reads: { ask: async (_: number, ask: (database: Database) => Promise<unknown>) => succeed(await ask(database)) },
    } as unknown as Services;
    const caller = { shop: { id: shopId } } as unknown as Caller;
    const found = await getMaterial(services, caller, { variantId: materialId, includeConnections: true });
    expect(found).to.have.nested.property('data.material.connections.billOfMaterials').with.length(1);
    expect(found)
      .to.have.nested.property('data.material.usage')
      .that.deep.equals({ billOfMaterials: 1, subAssemblies: 0 });
  });
});
