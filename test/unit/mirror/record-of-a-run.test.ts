import { expect } from 'chai';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import type { PlatformSync } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import {
  locationNode,
  locationsReply,
  onLocations,
  onVariants,
  variantNode,
  variantsReply,
} from '../platform/list-fixtures.js';
import { createConnectedShop, createSync } from './fixtures.js';

describe('what is on record of a mirror', () => {
  shutNetwork();
  const postgres = useDatabase();

  async function syncOf(shopId: number): Promise<PlatformSync> {
    const sync = (await listSyncs(postgres.database)).get(shopId);
    if (sync === undefined) throw new Error('no record');
    return sync;
  }
  const setBack = (shopId: number, column: string) =>
    postgres.database.raw(`UPDATE platform_syncs SET ${column} = ${column} - interval '2 hours' WHERE shop_id = ?`, [
      shopId,
    ]);
  const isOfNow = (time: string | null) => Date.now() - Date.parse(time ?? '') < 3_600_000;

  it('is what its last run counted, and when that began, and nothing of the runs before', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    const counts: unknown[] = [];
    for (const name of ['First', 'Second', 'Second']) {
      onLocations(null).reply(200, locationsReply([locationNode(1, name)]));
      onVariants(null).reply(200, variantsReply([variantNode(1, { title: name })]));
      expect(await run(shop)).to.include({ status: 'complete' });
      const { pages, locations, variants, startedAt } = await syncOf(shop.id);
      counts.push([pages, locations, variants, isOfNow(startedAt)]);
      await setBack(shop.id, 'started_at');
    }
    const [added, changed, neither] = [
      { seen: 1, added: 1, changed: 0 },
      { seen: 1, added: 0, changed: 1 },
      { seen: 1, added: 0, changed: 0 },
    ];
    expect(counts).to.deep.equal([added, changed, neither].map((count) => [2, count, count, true]));
  });

  it('is when it last met its problem, however long it has had it', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    for (let count = 0; count < 2; count += 1) {
      onLocations(null).reply(401, '');
      expect(await run(shop)).to.include({ status: 'failed' });
      expect((await syncOf(shop.id)).problemAt).to.satisfy(isOfNow);
      await setBack(shop.id, 'problem_at');
    }
  });
});
