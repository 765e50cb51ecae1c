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
        const { hold, run } = await beginRun(database, shopId);
        expect(await whileHeld(database, hold, run, () => Promise.resolve('held'))).to.equal('held');
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

describe('a transaction that writes a page of a mirror', () => {
  const postgres = useDatabase({ poolMax: 1 });

  it('is ended by Postgres where it works, waits for a lock, or stands still, for more than five seconds', async () => {
    const { database } = postgres;
    const { shopId } = await createTestShop(database, { materials: 0 });
    const { hold, run } = await beginRun(database, shopId);
    const bounds = await whileHeld(database, hold, run, async (transaction) => {
      const { rows } = await transaction.raw<{ rows: { name: string; setting: string }[] }>(
        `SELECT name, setting FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout' ORDER BY name`,
      );
      return rows.map(({ name, setting }) => [name, Number(setting)]);
    });
    expect(bounds).to.deep.equal([
      ['idle_in_transaction_session_timeout', 5_000],
      ['lock_timeout', 5_000],
      ['statement_timeout', 5_000],
    ]);
  });
});

async function beginRun(database: Database, shopId: number) {
  const [hold, domain] = [{ shopId, token: uuidv7() }, 'a.myshopify.com'];
  await takeSync(database, hold, { domain, everyMs: 0 });
  return { hold, run: (await startSyncRun(database, hold, domain)) ?? expect.fail() };
}
