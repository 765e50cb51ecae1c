import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { releaseSync, renewSync, startSyncRun, takeSync } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop } from '../../support/shop/shop.js';

const domain = 'demo-shop.myshopify.com';

describe('the record of a mirror that another session holds', () => {
  const postgres = useDatabase({ poolMax: 6 });

  // Nothing else limits that in an operator's command, which would hang for as long as the other session lasts.
  it('is waited for by each step of a run for some seconds, and no longer', async () => {
    const { database } = postgres;
    const { shopId } = await createTestShop(database, { materials: 0 });
    const hold = { shopId, token: randomUUID() };
    await takeSync(database, hold, { domain, everyMs: 0 });
    await database.transaction(async (other) => {
      await other.raw('SELECT 1 FROM platform_syncs WHERE shop_id = ? FOR UPDATE', [shopId]);
      const ended = await Promise.allSettled([
        takeSync(database, { shopId, token: randomUUID() }, { domain, everyMs: 0 }),
        startSyncRun(database, hold, domain),
        renewSync(database, hold),
        releaseSync(database, hold, { problem: null, abandon: false }),
      ]);
      const refusals = ended.map((each) => each.status === 'rejected' && (each.reason as { code?: string }).code);
      const lockNotAvailable = '55P03';
      expect(refusals).to.deep.equal(ended.map(() => lockNotAvailable));
    });
  });
});
