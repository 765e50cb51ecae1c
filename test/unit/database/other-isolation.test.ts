import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { insertKey, revokeKey, touchKey } from '../../../shared/database/api-keys.js';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { facetsOfVendors } from '../../../shared/database/insert-materials-with-stock.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { cancelOperations } from '../../../shared/database/operations.js';
import { renewSync, takeSync, whileHeld } from '../../../shared/database/platform-syncs.js';
import { settledTransaction } from '../../../shared/database/settled-transaction.js';
import { createShop } from '../../../shared/database/shops.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import { connectForTest } from '../../support/database/database.js';
import { execute } from '../../support/database/execute.js';
import { runMigrate } from '../../support/processes/run-migrate.js';
import { createEmptyDatabase, createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { withoutTimeouts } from '../../support/without-timeouts.js';

/** For the sessions that are opened from now on. */
const setIsolation = ({ url }: TestDatabase, isolation: string) =>
  execute(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = '${isolation}'`);

for (const isolation of ['repeatable read', 'serializable']) {
  describe(`a database whose transactions are ${isolation} by default`, () => {
    let testDatabase: TestDatabase;
    let database: Database;
    let shopId: number;
    before(async () => {
      testDatabase = await createTestDatabase();
      await setIsolation(testDatabase, isolation);
      database = connectForTest(testDatabase.url, { poolMax: 6 });
    });
    after(async () => {
      await database.destroy();
      await testDatabase.drop();
    });
    beforeEach(async () => {
      ({ id: shopId } = await createShop(database, { name: 'Test', plan: 'enhanced' }));
    });

    const create = (by: Database, id: string, vendor: string) =>
      createMaterials(by, shopId, [{ id: `VMAT-${id}`, origin: 'virtual', productName: id, vendor }]);

    it('does not keep a cancellation from what was recorded while it waited', async () => {
      const id = uuidv7();
      const worker = await database.transaction();
      await worker.raw(
        `INSERT INTO operations (op_id, shop_id, material_id, status, result, recorded_at)
         VALUES (?, ?, 'VMAT-none', 'executed', '{}', now())`,
        [id, shopId],
      );
      const cancelling = cancelOperations(withoutTimeouts(database), [{ shopId, materialId: 'VMAT-none', id }]);
      await untilWaiting(database, 1).finally(() => worker.commit());
      const { outcomes, leftOut } = await cancelling;
      expect(outcomes.get(id)).to.include({ status: 'executed' });
      expect(leftOut).to.deep.equal([]);
    });

    it('does not keep a command, as an import, from counting what others have counted meanwhile', async () => {
      await create(database, 'before', 'Acme');
      await settledTransaction(database, async (transaction) => {
        await transaction.raw('SELECT 1');
        await create(database, 'meanwhile', 'Acme');
        await create(transaction, 'own', 'Acme');
      });
      expect(await checkLists(database, { shopId })).to.deep.equal({ mismatchCount: 0, mismatches: [] });
    });

    it('does not keep an import from a facet that was made while it waited', async () => {
      const cycle = await database.transaction();
      await cycle.raw(`SELECT facet_of(?, 'New', 'virtual', false)`, [shopId]);
      const drawing = facetsOfVendors(database, shopId, ['New']);
      await untilWaiting(database, 1).finally(() => cycle.commit());
      expect(await drawing).to.have.lengthOf(1);
    });

    it('does not keep a bill of a material from what another one has made of that meanwhile', async () => {
      await create(database, 'x', 'Acme');
      const bill = (by: Database, id: string) => {
        const components = [{ materialId: 'VMAT-x', quantity: 1_000_000 }];
        return createBill(by, shopId, { id, kind: 'bill_of_materials', name: id, components });
      };
      const first = await database.transaction();
      await bill(first, 'b1');
      const second = bill(database, 'b2');
      await untilWaiting(database, 1).finally(() => first.commit());
      await second;
      expect(await checkLists(database, { shopId })).to.deep.equal({ mismatchCount: 0, mismatches: [] });
    });

    it('does not keep a key that was just used from being revoked', async () => {
      const { id, secretHash } = mintKey();
      await insertKey(database, shopId, { id, label: 'k', scope: 'write', secretHash, expiresAt: null });
      const using = await database.transaction();
      await touchKey(using, id, new Date('2026-01-01T00:00:00Z'));
      const revoking = revokeKey(database, shopId, id, new Date('2026-01-02T00:00:00Z'));
      await untilWaiting(database, 1).finally(() => using.commit());
      expect((await revoking)?.revokedAt).to.deep.equal(new Date('2026-01-02T00:00:00Z'));
    });

    it('does not keep a mirror whose page is being written from being renewed, and being told as taken', async () => {
      const hold = { shopId, token: randomUUID() };
      const taking = { domain: 'a.myshopify.com', everyMs: 0 };
      await takeSync(database, hold, taking);
      const waiting: Promise<unknown>[] = [];
      const page = await whileHeld(
        withoutTimeouts(database),
        hold,
        { generation: 0, pages: 0 },
        async (transaction) => {
          await transaction.raw('UPDATE platform_syncs SET pages = pages + 1 WHERE shop_id = ?', [shopId]);
          waiting.push(renewSync(database, hold), takeSync(database, { shopId, token: randomUUID() }, taking));
          await untilWaiting(database, 2);
          return 'written';
        },
      );
      expect(page).to.equal('written');
      const [, taken] = await Promise.all(waiting);
      expect(taken).to.equal(undefined);
    });

    it('may be migrated from several places at once: the others wait, and find it done', async () => {
      const empty = await createEmptyDatabase();
      await setIsolation(empty, isolation);
      const runs = await Promise.all(Array.from({ length: 3 }, () => runMigrate(empty.url)));
      expect(runs.map(({ code, stderr }) => ({ code, stderr }))).to.deep.equal(
        runs.map(() => ({ code: 0, stderr: '' })),
      );
      const said = runs
        .map(({ stdout }) => stdout.replace('Another process is migrating; waiting for it.\n', ''))
        .map((line) => line.replace(/^Migrated: 0001.*/, 'Migrated.'))
        .toSorted();
      expect(said).to.deep.equal(['Migrated.\n', 'The schema is up to date.\n', 'The schema is up to date.\n']);
      await empty.drop();
    });
  });
}
