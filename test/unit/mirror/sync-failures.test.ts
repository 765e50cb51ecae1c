import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import nock from 'nock';
import type { Database } from '../../../shared/database/connect.js';
import { recordVariants } from '../../../shared/database/platform-mirror.js';
import { listSyncs, takeSync } from '../../../shared/database/platform-syncs.js';
import { updateShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform } from '../../support/shop/platform.js';
import { until } from '../../support/time/until.js';
import { onShop, path, shutNetwork } from '../platform/fixtures.js';
import {
  costing,
  locationNode,
  locationsReply,
  onLocations,
  onVariants,
  variantNode,
  variantsReply,
} from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, cutOffAtV1, expectLocations, readMirror, readShop } from './fixtures.js';

describe('a mirror whose platform fails', () => {
  shutNetwork();
  const postgres = useDatabase();

  const idsOf = async (shopId: number) => (await readMirror(postgres.database, shopId)).materials.map(({ id }) => id);
  const syncOf = async (shopId: number) => (await listSyncs(postgres.database)).get(shopId);

  const passing: [string, string, (interceptor: nock.Interceptor) => nock.Scope][] = [
    ['5xx', 'unavailable', (variants) => variants.thrice().reply(503, '')],
    ['a lost connection', 'unavailable', (variants) => variants.thrice().replyWithError('gone')],
    ['429', 'throttled', (variants) => variants.thrice().reply(429, '')],
    ['a refused token', 'unauthorized', (variants) => variants.reply(401, '')],
    ['a right taken away', 'unauthorized', (variants) => variants.reply(200, graphqlError('ACCESS_DENIED'))],
    ['a frozen shop', 'unavailable', (variants) => variants.reply(402, '')],
  ];
  for (const [title, problem, reply] of passing) {
    it(`${title} half way: what came is kept, and the next run goes on there and is complete`, async () => {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1), variantNode(2)], 'v1'));
      reply(onVariants('v1'));
      expect(await run(shop)).to.deep.include({ status: 'failed', problem });
      expect(await idsOf(shop.id)).to.deep.equal(['1', '2']);
      expect(await syncOf(shop.id)).to.include({
        phase: 'variants',
        cursor: 'v1',
        syncedAt: null,
        problem,
        isRunning: false,
      });

      onVariants('v1').reply(200, variantsReply([variantNode(3)]));
      const outcome = await run(shop);
      expect(outcome).to.include({ status: 'complete', resumed: true });
      expect(outcome.status === 'complete' && outcome.sync.variants).to.deep.equal({ seen: 3, added: 3, changed: 0 });
      expect(await idsOf(shop.id)).to.deep.equal(['1', '2', '3']);
      expect(await syncOf(shop.id)).to.include({ problem: null, problemAt: null });
      expect(nock.isDone()).to.equal(true);
    });
  }

  const strange: [string, object | string][] = [
    ['a page of another shape', { data: { productVariants: { nodes: 'all' } } }],
    ['a page with partial errors', { ...variantsReply([variantNode(3)]), errors: [{ message: 'half of it' }] }],
    ['HTML', '<html>'],
    ['a cursor that does not move', variantsReply([variantNode(3)], 'v1')],
  ];
  for (const [title, body] of strange) {
    it(`${title} is not taken in, not even in part, and the next run begins anew`, async () => {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
      onVariants('v1').reply(200, body);
      expect(await run(shop)).to.include({ status: 'failed', problem: 'invalid-response' });
      expect(await idsOf(shop.id)).to.deep.equal(['1']);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      expect(await run(shop)).to.include({ status: 'complete', resumed: false });
    });
  }

  it('pages that lead in a circle end the run, with what they held taken in once; the next begins anew', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
    onVariants('v1').reply(200, variantsReply([variantNode(2)], 'v2'));
    onVariants('v2').reply(200, variantsReply([variantNode(1)], 'v1'));
    expect(await run(shop)).to.include({ status: 'failed', problem: 'pages-repeat' });
    expect(await idsOf(shop.id)).to.deep.equal(['1', '2']);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1), variantNode(2)]));
    expect(await run(shop)).to.include({ status: 'complete', resumed: false });
  });

  it('pages without end, each with a new variant, end at the bound', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectLocations();
    let count = 0;
    onShop()
      .persist()
      .post(path)
      .reply(200, () => variantsReply([variantNode((count += 1))], `v${count}`));
    expect(await run(shop, { pagesMax: 8 })).to.include({ status: 'failed', problem: 'too-many-pages' });
    expect(count).to.equal(7);
    expect(await syncOf(shop.id)).to.include({ phase: 'idle', cursor: null });
  });

  it('throttling is waited out by the figures of the replies, within the run', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run, clock } = createSync(postgres.database);
    onLocations(null).reply(200, { ...locationsReply([locationNode(1)]), ...costing(52, 950) });
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'v1'), ...costing(602, 302) });
    onVariants('v1').reply(200, variantsReply([variantNode(2)]));
    expect(await run(shop)).to.include({ status: 'complete' });
    expect(clock.waitsMs).to.deep.equal([5_000]);
  });

  it('the circuit opens after failures in a row, spares the platform, and a run after it closes goes on', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run, clock, events } = createSync(postgres.database, { failuresToOpen: 3, coolDownMs: 10_000 });
    expectLocations();
    onVariants(null).thrice().reply(500, '');
    expect(await run(shop)).to.include({ status: 'failed', problem: 'unavailable' });
    expect(await run(shop)).to.include({ status: 'failed', problem: 'circuit-open' });
    clock.advance(10_000);
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect(await run(shop)).to.include({ status: 'complete', resumed: true });
    expect(events.map(({ kind }) => kind)).to.include.members(['circuit-opened', 'circuit-closed']);
    expect(nock.isDone()).to.equal(true);
  });

  it('a silent platform is a time-out, and its run can go on', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database, { backgroundAttemptTimeoutMs: 20 });
    onLocations(null).thrice().delay(5_000).reply(200, locationsReply([]));
    expect(await run(shop)).to.include({ status: 'failed', problem: 'timeout' });
    expectLocations();
    onVariants(null).reply(200, variantsReply([]));
    // With the usual patience: on a busy machine 20 ms may pass before the answer is read.
    expect(await createSync(postgres.database).run(shop)).to.include({ status: 'complete' });
  });

  it('a shop without a platform, or with a token of another key, is a problem that says so and calls nobody', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    await updateShop(postgres.database, shop.id, {
      platform: { domain: 'a.myshopify.com', tokenSealed: Buffer.from('x') },
    });
    expect(await run(await readShop(postgres.database, shop.id))).to.include({ problem: 'token-unreadable' });
    expect(await syncOf(shop.id)).to.include({ problem: 'token-unreadable', syncedAt: null });
    await updateShop(postgres.database, shop.id, { platform: null });
    expect(await run(await readShop(postgres.database, shop.id))).to.include({ problem: 'not-connected' });
  });

  it('a shop that was connected to another platform meanwhile begins anew there', async () => {
    const { shop, run } = await cutOffAtV1(postgres.database);
    await connectPlatform(postgres.database, shop.id, 'other.myshopify.com', 'token');
    const other = nock('https://other.myshopify.com');
    other.post(path).reply(200, locationsReply([locationNode(5)]));
    other.post(path).reply(200, variantsReply([variantNode(51)]));
    const outcome = await run(await readShop(postgres.database, shop.id));
    expect(outcome).to.include({ status: 'complete', resumed: false });
    expect(outcome.status === 'complete' && outcome.gone.map(({ id }) => id)).to.deep.equal(['1', '1']);
  });

  describe('and who holds it', () => {
    it('two at once: one brings everything in, the other is told that it is not taken', async () => {
      const shop = await createConnectedShop(postgres.database);
      const [one, other] = [createSync(postgres.database), createSync(postgres.database)];
      // Whoever has it is answered only once the other has been told.
      let tell: () => void = () => undefined;
      const told = new Promise<void>((resolve) => (tell = resolve));
      onLocations(null).reply(200, () => told.then(() => locationsReply([locationNode(1)])));
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      const runs = [one.run(shop), other.run(shop)];
      await Promise.race(runs).finally(tell);
      const outcomes = await Promise.all(runs);
      expect(outcomes.map(({ status }) => status)).to.have.members(['complete', 'not-taken']);
      expect(nock.isDone()).to.equal(true);
    });

    it('it is not due again before its time, but at once where it was interrupted or has another platform', async () => {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      const everyMs = 3_600_000;
      expectLocations();
      const abort = new AbortController();
      onVariants(null).reply(200, () => {
        abort.abort();
        return variantsReply([variantNode(1)]);
      });
      expect(await run(shop, { everyMs, signal: abort.signal })).to.include({ status: 'interrupted' });
      // The page under way was given up, so it is asked for again.
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      expect(await run(shop, { everyMs })).to.include({ status: 'complete', resumed: true });
      expect(await run(shop, { everyMs })).to.include({ status: 'not-taken' });
      await connectPlatform(postgres.database, shop.id, 'else.myshopify.com', 'token');
      nock('https://else.myshopify.com').post(path).reply(401, '');
      expect(await run(await readShop(postgres.database, shop.id), { everyMs })).to.include({ status: 'failed' });
      expect(await run(await readShop(postgres.database, shop.id), { everyMs })).to.include({
        status: 'not-taken',
      });
    });

    it('its time for one turn over, it is interrupted between two pages and goes on in the next', async () => {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      expect(await run(shop, { sliceMsMax: 0 })).to.include({ status: 'interrupted' });
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
      expect(await run(shop)).to.include({ status: 'complete' });
    });

    it('who stood still for longer than the lease writes nothing more, and takes nothing from the new holder', async () => {
      const shop = await createConnectedShop(postgres.database);
      const slow = createSync(postgres.database);
      expectLocations();
      const held = new Promise<void>((resolve) => {
        onVariants(null).reply(200, async () => {
          await takeOver(postgres.database, shop.id);
          resolve();
          return variantsReply([variantNode(1)], 'v1');
        });
      });
      const outcome = slow.run(shop);
      await held;
      expect(await outcome).to.include({ status: 'failed', problem: 'lease-lost' });
      expect(await idsOf(shop.id)).to.deep.equal([]);
      expect(await syncOf(shop.id)).to.include({ isRunning: true, problem: null, phase: 'variants', cursor: null });
    });

    it('a hold that nobody has writes nothing', async () => {
      const shop = await createConnectedShop(postgres.database);
      const nobody = { shopId: shop.id, token: randomUUID() };
      const then = { phase: 'variants', cursor: null } as const;
      const recorded = await recordVariants(postgres.database, nobody, { generation: 0, pages: 0 }, [], then);
      expect(recorded).to.equal(undefined);
    });

    it('a page that waits long is still held: the lease is renewed meanwhile, also after a renewal that failed', async () => {
      const shop = await createConnectedShop(postgres.database);
      let failuresLeft = 0;
      const transaction = (work: (own: Database) => Promise<unknown>) =>
        failuresLeft-- > 0 ? Promise.reject(new Error('away')) : postgres.database.transaction(work);
      const { run } = createSync(Object.create(postgres.database, { transaction: { value: transaction } }) as Database);
      const renewed = async () => {
        failuresLeft = 1;
        const first = await leaseOf(postgres.database, shop.id);
        await until(async () => (await leaseOf(postgres.database, shop.id))! > first!, {
          what: 'a renewal',
          deadlineMs: 20_000,
        });
        return locationsReply([]);
      };
      onLocations(null).reply(200, renewed);
      onVariants(null).reply(200, variantsReply([]));
      expect(await run(shop)).to.include({ status: 'complete' });
    });
  });
});

function graphqlError(code: string) {
  return { data: null, errors: [{ message: 'no', extensions: { code } }] };
}

/** As another process would, once the lease had run out. */
async function takeOver(database: Database, shopId: number): Promise<void> {
  await database.raw("UPDATE platform_syncs SET lease_until = now() - interval '1 second' WHERE shop_id = ?", [shopId]);
  const hold = { shopId, token: randomUUID() };
  expect(await takeSync(database, hold, { domain: 'demo-shop.myshopify.com', everyMs: 0 })).to.not.equal(undefined);
}

async function leaseOf(database: Database, shopId: number): Promise<Date | undefined> {
  const { rows } = await database.raw<{ rows: { lease_until: Date }[] }>(
    'SELECT lease_until FROM platform_syncs WHERE shop_id = ? AND lease_token IS NOT NULL',
    [shopId],
  );
  return rows[0]?.lease_until;
}
