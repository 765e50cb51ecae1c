import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { releaseSync, renewSync, startSyncRun, takeSync } from '../../../shared/database/platform-syncs.js';
import type { SyncHold } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop } from '../../support/shop/shop.js';

const domain = 'demo-shop.myshopify.com';

describe('who has lost the hold of a mirror changes nothing of what its new holder does', () => {
  const postgres = useDatabase();

  const given = { problem: 'unauthorized', abandon: true };
  const attempts: [what: string, attempt: (database: Database, lost: SyncHold) => Promise<unknown>][] = [
    ['where it begins a run', (database, lost) => startSyncRun(database, lost, domain)],
    ['where it renews the hold', (database, lost) => renewSync(database, lost)],
    ['where it gives the hold up', (database, lost) => releaseSync(database, lost, given)],
  ];
  for (const [what, attempt] of attempts) {
    it(what, async () => {
      const { database } = postgres;
      const { shopId } = await createTestShop(database, { materials: 0 });
      const holder = { shopId, token: randomUUID() };
      await takeSync(database, holder, { domain, everyMs: 0 });
      await startSyncRun(database, holder, domain);
      const row = () => database('platform_syncs').where({ shop_id: shopId }).first<object>();
      const before = await row();
      expect(before).to.include({ lease_token: holder.token, phase: 'locations' });
      expect(await attempt(database, { shopId, token: randomUUID() })).to.equal(undefined);
      expect(await row()).to.deep.equal(before);
    });
  }
});
