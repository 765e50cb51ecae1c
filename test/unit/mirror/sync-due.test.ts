import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { findDueShops, listSyncs, takeSync } from '../../../shared/database/platform-syncs.js';
import { updateShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onLocations, onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, cutOffAtV1, domain, expectLocations, readShop } from './fixtures.js';

const everyMs = 3_600_000;

describe('when a mirror is due', () => {
  shutNetwork();
  const postgres = useDatabase();

  it('is at once where the process was killed in its run, though the attempt before had failed', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const { run } = createSync(database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
    onVariants('v1').reply(401, '');
    expect(await run(shop, { everyMs })).to.include({ status: 'failed', problem: 'unauthorized' });
    expect(await run(shop, { everyMs }), 'after a failure').to.include({ status: 'not-taken' });

    // Its time comes round, and whoever takes it is gone without a word: the lease runs out.
    const killed = { shopId: shop.id, token: randomUUID() };
    expect(await takeSync(database, killed, { domain, everyMs: 0 })).to.be.an('object');
    await database.raw('UPDATE platform_syncs SET lease_until = now() WHERE shop_id = ?', [shop.id]);
    expect(await findDueShops(database, { everyMs, limit: 100 })).to.include(shop.id);
    onVariants('v1').reply(200, variantsReply([variantNode(2)]));
    expect(await run(shop, { everyMs })).to.include({ status: 'complete', resumed: true });
  });

  it('is at once where the process was killed before its run began', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const { run } = createSync(database);
    for (const token of [randomUUID(), randomUUID()]) {
      expect(await takeSync(database, { shopId: shop.id, token }, { domain, everyMs })).to.be.an('object');
      expect(await findDueShops(database, { everyMs, limit: 100 }), 'while it is held').to.not.include(shop.id);
      await database.raw('UPDATE platform_syncs SET lease_until = now() WHERE shop_id = ?', [shop.id]);
      expect(await findDueShops(database, { everyMs, limit: 100 })).to.include(shop.id);
    }
    expectLocations();
    onVariants(null).reply(200, variantsReply([]));
    expect(await run(shop, { everyMs })).to.include({ status: 'complete' });
    expect(await findDueShops(database, { everyMs, limit: 100 })).to.not.include(shop.id);
  });

  it('is when its time comes round, and no sooner, where the token of another platform cannot be opened', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const { run } = createSync(database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([]));
    expect(await run(shop, { everyMs })).to.include({ status: 'complete' });
    await updateShop(database, shop.id, {
      platform: { domain: 'else.myshopify.com', tokenSealed: Buffer.from('sealed with another key') },
    });
    const moved = await readShop(database, shop.id);
    expect(await run(moved, { everyMs })).to.include({ status: 'failed', problem: 'token-unreadable' });
    expect(await findDueShops(database, { everyMs, limit: 100 })).to.not.include(shop.id);
    expect(await run(moved, { everyMs })).to.include({ status: 'not-taken' });
    expect(await findDueShops(database, { everyMs: 0, limit: 100 })).to.include(shop.id);
  });

  it('is at once where the clock of Postgres was ahead when it was tried last, and whoever tried is gone', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const { run } = createSync(database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([]));
    expect(await run(shop)).to.include({ status: 'complete' });
    const setAhead = (column: string) =>
      database.raw(`UPDATE platform_syncs SET ${column} = now() + interval '1 day' WHERE shop_id = ?`, [shop.id]);
    for (const columns of [['attempted_at'], ['attempted_at', 'lease_until']]) {
      for (const column of columns) await setAhead(column);
      expect((await listSyncs(database)).get(shop.id), 'as it is shown').to.include({ isRunning: false });
      expect(await findDueShops(database, { everyMs, limit: 100 })).to.include(shop.id);
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
      expect(await run(shop), columns.join()).to.include({ status: 'complete' });
    }
  });

  it('comes first where it was tried the longest ago, and before that where it never was', async () => {
    const { database } = postgres;
    const [recent, oldest, never] = [
      await createConnectedShop(database),
      await createConnectedShop(database),
      await createConnectedShop(database),
    ];
    for (const [{ id: shopId }, hours] of [[recent, 2] as const, [oldest, 3] as const]) {
      expect(await takeSync(database, { shopId, token: randomUUID() }, { domain, everyMs: 0 })).to.be.an('object');
      await database.raw(
        `UPDATE platform_syncs SET attempted_at = now() - make_interval(hours => ?), lease_until = now()
         WHERE shop_id = ?`,
        [hours, shopId],
      );
    }
    const due = await findDueShops(database, { everyMs, limit: 100 });
    const ours = [recent, oldest, never].map(({ id }) => id);
    expect(due.filter((id) => ours.includes(id))).to.deep.equal([never.id, oldest.id, recent.id]);
  });

  /** As if the run had begun, or its last page had come, so many hours ago. */
  const hoursAgo = (hours: number, column: string, shopId: number) =>
    postgres.database.raw(`UPDATE platform_syncs SET ${column} = now() - make_interval(hours => ?) WHERE shop_id = ?`, [
      hours,
      shopId,
    ]);

  it('goes on with a run that began days ago, as long as a page has come within a day', async () => {
    const { shop, run } = await cutOffAtV1(postgres.database);
    await hoursAgo(72, 'started_at', shop.id);
    onVariants('v1').reply(200, variantsReply([variantNode(2)], 'v2'));
    onVariants('v2').reply(401, '');
    expect(await run(shop)).to.include({ status: 'failed', resumed: true });
    onVariants('v2').reply(200, variantsReply([variantNode(3)]));
    expect(await run(shop)).to.include({ status: 'complete', resumed: true });
  });

  it('is an hour after a run was cut off, where the interval is longer: a week later it would begin anew', async () => {
    const everyMs = 7 * 86_400_000;
    const { database } = postgres;
    const { shop, run } = await cutOffAtV1(database);
    const isDue = async () => (await findDueShops(database, { everyMs, limit: 100 })).includes(shop.id);
    expect(await isDue(), 'at once').to.equal(false);
    for (const column of ['attempted_at', 'page_at']) await hoursAgo(2, column, shop.id);
    expect(await isDue(), 'two hours later').to.equal(true);
    onVariants('v1').reply(200, variantsReply([variantNode(2)], 'v2'));
    onVariants('v2').reply(200, '<html>');
    expect(await run(shop, { everyMs })).to.include({ status: 'failed', problem: 'invalid-response', resumed: true });
    await hoursAgo(2, 'attempted_at', shop.id);
    expect(await isDue(), 'once it is to begin anew').to.equal(false);
  });

  describe('is not before the interval is over where a run was cut off', () => {
    const isDueAfterHours = async (shopId: number, everyMs: number) => {
      await hoursAgo(2, 'attempted_at', shopId);
      return (await findDueShops(postgres.database, { everyMs, limit: 100 })).includes(shopId);
    };

    it('before its first page, as where a token was revoked', async () => {
      const shop = await createConnectedShop(postgres.database);
      onLocations(null).reply(401, '');
      expect(await createSync(postgres.database).run(shop)).to.include({ status: 'failed', problem: 'unauthorized' });
      expect(await isDueAfterHours(shop.id, 7 * 86_400_000)).to.equal(false);
    });

    it('before its first page, as where the token of a mirrored shop cannot be opened any more', async () => {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
      expect(await run(shop)).to.include({ status: 'complete' });
      const tokenSealed = Buffer.from('sealed with another key');
      await updateShop(postgres.database, shop.id, { platform: { domain, tokenSealed } });
      const resealed = await readShop(postgres.database, shop.id);
      expect(await run(resealed)).to.include({ status: 'failed', problem: 'token-unreadable' });
      expect(await isDueAfterHours(shop.id, 86_400_000)).to.equal(false);
    });

    it('after a page that is more than a day old: it would begin anew', async () => {
      const { shop } = await cutOffAtV1(postgres.database);
      for (const column of ['started_at', 'page_at']) await hoursAgo(25, column, shop.id);
      expect(await isDueAfterHours(shop.id, 7 * 86_400_000)).to.equal(false);
    });
  });

  it('begins a run anew whose last page is more than a day old, though it was tried since', async () => {
    const { shop, run } = await cutOffAtV1(postgres.database);
    await hoursAgo(72, 'started_at', shop.id);
    await hoursAgo(23, 'page_at', shop.id);
    onVariants('v1').reply(401, '');
    expect(await run(shop), 'within a day').to.include({ status: 'failed', resumed: true });
    await hoursAgo(25, 'page_at', shop.id);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect(await run(shop), 'after a day').to.include({ status: 'complete', resumed: false });
  });
});
