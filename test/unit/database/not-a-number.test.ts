import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { violatedConstraint } from '../../../shared/database/errors.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { createTestShop } from '../../support/shop/shop.js';

// To Postgres NaN is greater than every number, so that `>= 0` alone would let it in (reliability §1).
describe('NaN', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  before('a shop with a row in every table that has quantities', async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { pipeline: true });
    const { shopId, materialIds, locationIds } = await createTestShop(database);
    const [materialId = ''] = materialIds;
    const levels = [{ locationId: locationIds[0] ?? '', quantity: 1_000_000 }];
    await bookStock(database, shopId, [{ materialId, levels }]);
    const components = [{ materialId, quantity: 1_000_000 }];
    await createBill(database, shopId, { id: 'b', kind: 'bill_of_materials', name: 'b', components });
  });
  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  it('is refused by a constraint of every column that holds a quantity or money', async () => {
    const { rows: columns } = await database.raw<{ rows: { table: string; column: string }[] }>(
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       WHERE table_schema = current_schema() AND data_type = 'numeric'`,
    );
    expect(columns.map(({ column }) => column)).to.include.members(['unit_cost', 'total_quantity', 'applied']);
    const letIn: string[] = [];
    for (const { table, column } of columns) {
      const constraint = await database.raw("UPDATE ?? SET ?? = 'NaN'", [table, column]).then(
        () => undefined,
        (error: unknown) => violatedConstraint(error),
      );
      if (constraint?.startsWith(table) !== true) letIn.push(`${table}.${column}`);
    }
    expect(letIn).to.deep.equal([]);
    // A row has only one of these two, so the NaN of the other met another constraint above.
    const swap = database.raw("UPDATE ledger SET requested_delta = 'NaN', requested_absolute = NULL");
    const constraint = await swap.then(() => 'none', violatedConstraint);
    expect(constraint).to.match(/^ledger_/);
  });
});
