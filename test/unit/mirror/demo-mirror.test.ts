import { expect } from 'chai';
import { findShop } from '../../../shared/database/shops.js';
import { syncShop } from '../../../shared/mirror/sync-shop.js';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { seedDemo } from '../../../shared/standalone/demo-data.js';
import { startStandInPlatform } from '../../../shared/standalone/stand-in-platform.js';
import { useDatabase } from '../../support/database/database.js';
import { platformTokenKey } from '../../support/shop/platform.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { readMirror } from './fixtures.js';

describe('the demo shop', () => {
  const postgres = useDatabase();

  it('is mirrored already: bringing its stand-in in changes nothing and finds nothing gone', async () => {
    const standIn = await startStandInPlatform();
    const folder = await temporaryFolder();
    try {
      const demo = await seedDemo({
        databaseUrl: postgres.url,
        dataFolder: folder.path,
        platformUrl: standIn.url,
        platformTokenKey,
      });
      const before = await readMirror(postgres.database, demo.shopId);
      const shop = (await findShop(postgres.database, demo.shopId))!;
      const outcome = await syncShop(
        {
          database: postgres.database,
          platform: createShopifyPlatform({ allowLoopback: true }),
          tokenCipher: createTokenCipher(platformTokenKey),
        },
        shop,
      );
      expect(outcome).to.include({ status: 'complete', goneCount: 0, remarkCount: 0 });
      expect(outcome.status === 'complete' && outcome.sync).to.deep.include({
        locations: { seen: 3, added: 0, changed: 0 },
        variants: { seen: 13, added: 0, changed: 0 },
      });
      expect(await readMirror(postgres.database, demo.shopId)).to.deep.equal(before);
    } finally {
      await standIn.stop();
      await folder.remove();
    }
  });
});
