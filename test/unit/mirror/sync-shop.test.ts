import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { checkLedger } from '../../../shared/database/ledger-check.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { addLocation } from '../../../shared/database/locations.js';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { createTestShop } from '../../support/shop/shop.js';
import { connectPlatform } from '../../support/shop/platform.js';
import { shutNetwork } from '../platform/fixtures.js';
import {
  locationNode,
  locationsReply,
  onLocations,
  onVariants,
  variantNode,
  variantsReply,
} from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, domain, expectLocations, readMirror, readShop } from './fixtures.js';

describe('the mirror of a platform', () => {
  shutNetwork();
  const postgres = useDatabase();

  /** Two pages of locations, two of variants. */
  function expectCatalogue(change: Record<string, unknown> = {}): void {
    onLocations(null).reply(200, locationsReply([locationNode(1)], 'l1'));
    onLocations('l1').reply(200, locationsReply([locationNode(2)]));
    onVariants(null).reply(200, variantsReply([variantNode(11), variantNode(12)], 'v1'));
    onVariants('v1').reply(200, variantsReply([variantNode(13, change)]));
  }

  it('brings every page of locations and variants into the tables', async () => {
    const shop = await createConnectedShop(postgres.database);
    expectCatalogue();
    const outcome = await createSync(postgres.database).run(shop);
    expect(outcome).to.deep.include({ status: 'complete', resumed: false, goneCount: 0, gone: [], remarkCount: 0 });
    const { materials, locations } = await readMirror(postgres.database, shop.id);
    expect(locations.map(({ id, name }) => [id, name])).to.deep.equal([
      ['1', 'Location 1'],
      ['2', 'Location 2'],
    ]);
    expect(materials.map(({ id }) => id)).to.deep.equal(['11', '12', '13']);
    expect(materials[0]).to.deep.include({
      origin: 'platform',
      product_name: 'Product 11',
      variant_name: 'Variant 11',
      sku: 'SKU-11',
      vendor: 'Vendor',
      unit_price: '12.500000',
      unit_cost: '4.200000',
      image_url: null,
      unit: null,
      version: 1,
      total_quantity: '7.000000',
    });
    const sync = (await listSyncs(postgres.database)).get(shop.id);
    expect(sync).to.deep.include({
      phase: 'idle',
      cursor: null,
      pages: 4,
      locations: { seen: 2, added: 2, changed: 0 },
      variants: { seen: 3, added: 3, changed: 0 },
      problem: null,
      isRunning: false,
    });
    expect(Date.parse(sync?.syncedAt ?? '')).to.be.closeTo(Date.now(), 30_000);
  });

  it('again, it changes nothing: no row, no version, no time', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectCatalogue();
    await run(shop);
    const before = await readMirror(postgres.database, shop.id);
    expectCatalogue();
    const again = await run(shop);
    expect(again.status === 'complete' && again.sync.variants).to.deep.equal({ seen: 3, added: 0, changed: 0 });
    expect(await readMirror(postgres.database, shop.id)).to.deep.equal(before);
  });

  it('a variant that changed gets version and time, the others keep theirs, and fields of the shop’s own stay', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectCatalogue();
    await run(shop);
    await postgres.database.raw(
      `UPDATE materials SET unit = 'kg', specifications = 'dry', is_non_essential = true, weight_value = 2 WHERE shop_id = ?`,
      [shop.id],
    );
    const before = await readMirror(postgres.database, shop.id);
    expectCatalogue({ price: '13', inventoryItem: { unitCost: null } });
    const again = await run(shop);
    expect(again.status === 'complete' && again.sync.variants).to.deep.equal({ seen: 3, added: 0, changed: 1 });
    const after = await readMirror(postgres.database, shop.id);
    const [first, second, third] = after.materials;
    expect([first, second]).to.deep.equal(before.materials.slice(0, 2));
    const { updated_at, ...rest } = third!;
    const { updated_at: updatedBefore, ...restBefore } = before.materials[2]!;
    expect(rest).to.deep.equal({ ...restBefore, unit_price: '13.000000', unit_cost: null, version: 2 });
    expect(updated_at).to.be.greaterThan(updatedBefore as Date);
  });

  it('a quantity alone that changed moves the total and its time, not the version of the fields', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    expectCatalogue();
    await run(shop);
    expectCatalogue({ inventoryQuantity: -2 });
    const again = await run(shop);
    expect(again.status === 'complete' && again.sync.variants.changed).to.equal(1);
    const { materials } = await readMirror(postgres.database, shop.id);
    expect(materials[2]).to.include({ version: 1, total_quantity: '-2.000000' });
  });

  it('a location takes the platform’s name; one of the shop’s own, and its default, stay', async () => {
    const shop = await createConnectedShop(postgres.database);
    await addLocation(postgres.database, shop.id, { id: '1', name: 'Ours' });
    await addLocation(postgres.database, shop.id, { id: 'cellar', name: 'Cellar' });
    expectCatalogue();
    const outcome = await createSync(postgres.database).run(shop);
    expect(outcome).to.include({ status: 'complete', goneCount: 0 });
    const { locations } = await readMirror(postgres.database, shop.id);
    expect(locations.map(({ id, name }) => [id, name])).to.deep.equal([
      ['1', 'Location 1'],
      ['2', 'Location 2'],
      ['cellar', 'Cellar'],
    ]);
  });

  it('virtual materials, their levels and the ledger are not touched, nor another shop', async () => {
    const piped = connectForTest(postgres.url, { pipeline: true });
    try {
      const virtual = await createTestShop(postgres.database, { materials: 3 });
      const other = await createTestShop(postgres.database, { materials: 1 });
      const stock = virtual.materialIds.map((materialId) => ({
        materialId,
        levels: virtual.locationIds.map((locationId) => ({ locationId, quantity: 5_000_000 })),
      }));
      await bookStock(piped, virtual.shopId, stock);
      await connectPlatform(postgres.database, virtual.shopId, domain, 'token-of-the-shop');
      const state = async () => ({
        virtual: (await readMirror(postgres.database, virtual.shopId)).materials.filter(({ id }) =>
          String(id).startsWith('VMAT-'),
        ),
        other: await readMirror(postgres.database, other.shopId),
        levels: (await postgres.database.raw<{ rows: object[] }>('SELECT * FROM levels ORDER BY id')).rows,
        ledger: (await postgres.database.raw<{ rows: object[] }>('SELECT * FROM ledger ORDER BY level_id, sequence'))
          .rows,
      });
      const before = await state();
      expectCatalogue();
      const shop = await readShop(postgres.database, virtual.shopId);
      const outcome = await createSync(postgres.database).run(shop, { removeGone: true });
      // Locations that no page ever listed are the shop's own, digits or not.
      expect(outcome).to.include({ status: 'complete', goneCount: 0, removedCount: 0 });
      expect(await state()).to.deep.equal(before);
      expect(await checkLedger(postgres.database)).to.include({ mismatchCount: 0 });
      expect(await checkLists(postgres.database)).to.include({ mismatchCount: 0 });
    } finally {
      await piped.destroy();
    }
  });

  it('a variant that turns up on two pages, since a page changed under way, is there once, as it was last', async () => {
    const shop = await createConnectedShop(postgres.database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(31), variantNode(32)], 'v1'));
    onVariants('v1').reply(200, variantsReply([variantNode(32, { title: 'Later' }), variantNode(33)]));
    const outcome = await createSync(postgres.database).run(shop);
    expect(outcome.status === 'complete' && outcome.sync.variants).to.deep.equal({ seen: 3, added: 3, changed: 1 });
    const { materials } = await readMirror(postgres.database, shop.id);
    expect(materials.map(({ id, variant_name }) => [id, variant_name])).to.deep.equal([
      ['31', 'Variant 31'],
      ['32', 'Later'],
      ['33', 'Variant 33'],
    ]);
  });

  describe('what the platform lists no more', () => {
    async function goneShop() {
      const shop = await createConnectedShop(postgres.database);
      const sync = createSync(postgres.database);
      onLocations(null).reply(200, locationsReply([locationNode(1), locationNode(2)]));
      onVariants(null).reply(200, variantsReply([variantNode(41), variantNode(42), variantNode(43)]));
      await sync.run(shop);
      const components = [{ materialId: '42', quantity: 1 }];
      await createBill(postgres.database, shop.id, { id: 'B', kind: 'bill_of_materials', name: 'B', components });
      return { shop, ...sync };
    }

    function expectLess(): void {
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(41)]));
    }

    it('is kept and told, locations and materials alike, and told no more once it is back', async () => {
      const { shop, run } = await goneShop();
      const before = await readMirror(postgres.database, shop.id);
      expectLess();
      const outcome = await run(shop);
      const gone = outcome.status === 'complete' ? outcome.gone : [];
      expect(gone.map(({ kind, id, name, isUsed }) => [kind, id, name, isUsed])).to.deep.equal([
        ['location', '2', 'Location 2', false],
        ['variant', '42', 'Product 42', true],
        ['variant', '43', 'Product 43', false],
      ]);
      expect(outcome).to.include({ goneCount: 3, removedCount: 0 });
      expect(await readMirror(postgres.database, shop.id)).to.deep.equal(before);

      onLocations(null).reply(200, locationsReply([locationNode(1), locationNode(2)]));
      onVariants(null).reply(200, variantsReply([variantNode(41), variantNode(42)]));
      const back = await run(shop);
      expect(back.status === 'complete' && back.gone.map(({ id }) => id)).to.deep.equal(['43']);
      expect(back.status === 'complete' && back.gone[0]?.since).to.equal(gone[2]?.since);
    });

    it('on the operator’s word goes, but for locations and what a bill needs', async () => {
      const { shop, run } = await goneShop();
      expectLess();
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', removedCount: 1, goneCount: 2 });
      const { materials, locations } = await readMirror(postgres.database, shop.id);
      expect(materials.map(({ id }) => id)).to.deep.equal(['41', '42']);
      expect(locations.map(({ id }) => id)).to.deep.equal(['1', '2']);
    });

    it('goes from its own shop only, though another has the same variants, and needs them', async () => {
      const { database } = postgres;
      const [{ shop, run }, { shop: other }] = [await goneShop(), await goneShop()];
      const components = [{ materialId: '43', quantity: 1 }];
      await createBill(database, other.id, { id: 'theirs', kind: 'sub_assembly', name: 'Theirs', components });
      const sightings = () => database('platform_sightings').where({ shop_id: other.id }).orderBy(['kind', 'id']);
      const [before, seenBefore] = [await readMirror(database, other.id), await sightings()];
      expectLess();
      expect(await run(shop, { removeGone: true })).to.include({ status: 'complete', removedCount: 1 });
      expect(await readMirror(database, other.id)).to.deep.equal(before);
      expect(await sightings()).to.deep.equal(seenBefore);
    });

    it('does not go on it where it has a level, and so a history', async () => {
      const { shop, run } = await goneShop();
      await postgres.database.raw(
        `INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
         VALUES (?, '43', '1', nextval('levels_id_seq'), 0, 1, now())`,
        [shop.id],
      );
      expectLess();
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', removedCount: 0, goneCount: 3 });
      expect((await readMirror(postgres.database, shop.id)).materials).to.have.lengthOf(3);
    });

    for (const [what, locations, goneCount] of [
      ['nothing at all', [], 5],
      ['locations but no variants, as to a token that may not see them', [locationNode(1), locationNode(2)], 3],
    ] as const) {
      it(`does not go on anybody’s word where the platform lists ${what}`, async () => {
        const { shop, run } = await goneShop();
        onLocations(null).reply(200, locationsReply([...locations]));
        onVariants(null).reply(200, variantsReply([]));
        expect(await run(shop, { removeGone: true })).to.include({ status: 'complete', removedCount: 0, goneCount });
        expect((await readMirror(postgres.database, shop.id)).materials).to.have.lengthOf(3);
      });
    }

    it('does not go where the last of several pages is empty: the token may see no variant any more', async () => {
      const { shop, run } = await goneShop();
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(41)], 'v1'));
      onVariants('v1').reply(200, variantsReply([]));
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', removalWithheld: true, removedCount: 0, goneCount: 3 });
      expect((await readMirror(postgres.database, shop.id)).materials).to.have.lengthOf(3);
      expectLess();
      expect(await run(shop, { removeGone: true })).to.include({ removalWithheld: false, removedCount: 1 });
    });

    it('includes a material that was there before the first run; a run that is cut off marks nothing', async () => {
      const shop = await createConnectedShop(postgres.database);
      await createMaterials(postgres.database, shop.id, [{ id: '99', origin: 'platform', productName: 'Old' }]);
      const { run } = createSync(postgres.database);
      expectLocations();
      onVariants(null).reply(401, '');
      expect(await run(shop)).to.include({ status: 'failed', problem: 'unauthorized' });
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      const outcome = await run(shop);
      expect(outcome.status === 'complete' && outcome.gone.map(({ id }) => id)).to.deep.equal(['99']);
    });
  });
});
