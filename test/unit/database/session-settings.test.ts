import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { touchKey } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { pruneFacets } from '../../../shared/database/facets.js';
import { beginImport } from '../../../shared/database/insert-materials-with-stock.js';
import { cancelOperations, recordFailed } from '../../../shared/database/operations.js';
import { pruneOperations } from '../../../shared/database/prune-operations.js';
import { startSyncRun, takeSync, whileHeld } from '../../../shared/database/platform-syncs.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';

/**
 * A setting that outlived its transaction would hold for whatever the connection does next, and behind PgBouncer for
 * other clients too.
 */
describe('what a transaction sets for itself ends with it', () => {
  const postgres = useDatabase({ poolMax: 1, pipeline: true });

  const givenUp = (shopId: number) => [{ shopId, materialId: 'VMAT-none', id: uuidv7() }];
  const transactions: [what: string, run: (database: Database, shopId: number) => Promise<unknown>][] = [
    ['that cancels operations', (database, shopId) => cancelOperations(database, givenUp(shopId))],
    ['that records operations as failed', (database, shopId) => recordFailed(database, givenUp(shopId))],
    ['that prunes operations', (database) => pruneOperations(database, { keptMs: 60_000, batchSize: 1 })],
    ['that prunes facets', (database) => pruneFacets(database, { restMs: 60_000, batchSize: 1 })],
    ['that notes the use of a key', (database) => touchKey(database, 'nobodys', new Date())],
    ['that begins an import', (database) => database.transaction(beginImport)],
    [
      'that applies operations',
      (database, shopId) => {
        const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1001', delta: 1 }] });
        const work = [{ shopId, materialId: 'VMAT-none', operations: [operation] }];
        return applyOperations(database, work, { nowMs: Date.now });
      },
    ],
    [
      'that writes a page of a mirror',
      async (database, shopId) => {
        const hold = { shopId, token: uuidv7() };
        await takeSync(database, hold, { domain: 'a.myshopify.com', everyMs: 0 });
        const run = await startSyncRun(database, hold, 'a.myshopify.com');
        expect(await whileHeld(database, hold, run ?? expect.fail(), () => Promise.resolve('held'))).to.equal('held');
      },
    ],
  ];
  for (const [what, run] of transactions) {
    it(what, async () => {
      const { shopId } = await createTestShop(postgres.database, { materials: 0 });
      await run(postgres.database, shopId);
      const { rows } = await postgres.database.raw<{ rows: object[] }>(
        "SELECT name, setting FROM pg_settings WHERE source = 'session'",
      );
      expect(rows).to.deep.equal([]);
    });
  }
});
