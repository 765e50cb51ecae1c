import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import nock from 'nock';
import { finishSync } from '../../../shared/database/finish-sync.js';
import { listSyncs, startSyncRun, takeSync } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, domain, expectLocations, readMirror } from './fixtures.js';

describe('a mirror beneath which Postgres goes back to an earlier moment', () => {
  shutNetwork();
  const postgres = useDatabase();

  // All that a page of variants that are known already leaves in Postgres.
  const tables = ['platform_syncs', 'platform_sightings'];
  async function keep(): Promise<void> {
    for (const table of tables) await postgres.database.raw(`CREATE TABLE kept_${table} AS TABLE ${table}`);
  }
  /** As a standby that takes over without the last commits; the lease is among what it has. */
  async function goBack(): Promise<void> {
    await postgres.database.transaction(async (transaction) => {
      for (const table of tables) {
        await transaction.raw(
          `DELETE FROM ${table}; INSERT INTO ${table} TABLE kept_${table}; DROP TABLE kept_${table}`,
        );
      }
    });
  }
  const endLease = (shopId: number) =>
    postgres.database.raw('UPDATE platform_syncs SET lease_until = now() WHERE shop_id = ?', [shopId]);

  function expectPages(before: Partial<Record<'2' | '3', () => Promise<void>>> = {}): void {
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
    onVariants('v1').reply(200, async () => {
      await before['2']?.();
      return variantsReply([variantNode(2)], 'v2');
    });
    onVariants('v2').reply(200, async () => {
      await before['3']?.();
      return variantsReply([variantNode(3)]);
    });
  }

  it('does not take what the lost pages held for gone: it goes on where Postgres has it', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectPages();
    expect(await run(shop)).to.include({ status: 'complete' });
    const before = await readMirror(postgres.database, shop.id);

    expectPages({ '2': keep, '3': goBack });
    expect(await run(shop, { removeGone: true })).to.include({ status: 'failed', problem: 'lease-lost' });
    expect(await readMirror(postgres.database, shop.id)).to.deep.equal(before);

    await endLease(shop.id);
    onVariants('v1').reply(200, variantsReply([variantNode(2)], 'v2'));
    onVariants('v2').reply(200, variantsReply([variantNode(3)]));
    const outcome = await run(shop, { removeGone: true });
    expect(outcome).to.include({ status: 'complete', resumed: true, removedCount: 0, goneCount: 0 });
    expect(await readMirror(postgres.database, shop.id)).to.deep.equal(before);
    expect(nock.isDone()).to.equal(true);
  });

  it('nor ends a run whose last page, or whose beginning, Postgres does not have', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const hold = { shopId: shop.id, token: randomUUID() };
    await takeSync(database, hold, { domain, everyMs: 0 });
    const begun = (await startSyncRun(database, hold, domain))!;
    for (const lost of [{ pages: begun.pages + 1 }, { generation: begun.generation + 1 }]) {
      expect(await finishSync(database, hold, { ...begun, ...lost }, { removeGone: true })).to.equal(undefined);
    }
    expect((await listSyncs(database)).get(shop.id)).to.include({
      phase: 'locations',
      syncedAt: null,
      isRunning: true,
    });
  });
});
