import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { addLocation, addLocations, listLocations } from '../../../shared/database/locations.js';
import { createShop, findShop, listShops, updateShop } from '../../../shared/database/shops.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

describe('shops and their locations', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4 });
  });

  afterEach(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  it('begin without locations, platform and limit of their own, and with negative inventory not allowed', async () => {
    const shop = await createShop(database, { name: 'one', plan: 'basic' });
    const empty = { defaultLocationId: null, rateLimitPoints: null, platform: null };
    expect(shop).to.deep.equal({ id: shop.id, name: 'one', plan: 'basic', allowNegativeInventory: false, ...empty });
    expect(await findShop(database, shop.id)).to.deep.equal(shop);
    expect(await listShops(database)).to.deep.equal([shop]);
  });

  it('change in what is given and nothing else, and back to nothing', async () => {
    const shop = await createShop(database, { name: 'one', plan: 'basic' });
    await addLocation(database, shop.id, { id: '7', name: 'here' });
    const platform = { domain: 'a.myshopify.com', tokenSealed: Buffer.from([1, 2, 3]) };
    const changes = { plan: 'enhanced', defaultLocationId: '7', rateLimitPoints: 9, platform } as const;
    const changed = { ...shop, ...changes };
    expect(await updateShop(database, shop.id, changes)).to.deep.equal({ ok: true, shop: changed });
    expect(await updateShop(database, shop.id, {})).to.deep.equal({ ok: true, shop: changed });
    const cleared = { defaultLocationId: null, rateLimitPoints: null, platform: null };
    expect(await updateShop(database, shop.id, cleared)).to.deep.equal({ ok: true, shop: { ...changed, ...cleared } });
  });

  it("do not take another shop's location for their default one", async () => {
    const [one, two] = [
      await createShop(database, { name: 'one', plan: 'basic' }),
      await createShop(database, { name: 'two', plan: 'basic' }),
    ];
    await addLocation(database, two.id, { id: '7', name: 'there' });
    const refused = await updateShop(database, one.id, { name: 'renamed', defaultLocationId: '7' });
    expect(refused).to.deep.equal({ ok: false, error: 'unknown-location' });
    expect(await findShop(database, one.id)).to.deep.equal(one);
  });

  it('that do not exist are neither found nor changed', async () => {
    expect(await findShop(database, 99)).to.equal(undefined);
    expect(await updateShop(database, 99, { name: 'x' })).to.deep.equal({ ok: false, error: 'unknown-shop' });
  });

  it('keep a location that is added again as it is, and list locations by id bytewise', async () => {
    const { id } = await createShop(database, { name: 'one', plan: 'basic' });
    expect(await addLocation(database, id, { id: '9', name: 'first' })).to.equal(true);
    expect(await addLocation(database, id, { id: '9', name: 'again' })).to.equal(false);
    const more = ['a', 'B', '10', '9'].map((location) => ({ id: location, name: location }));
    expect(await addLocations(database, id, more)).to.equal(3);
    const listed = (await listLocations(database, id)).map((location) => `${location.id} ${location.name}`);
    expect(listed).to.deep.equal(['10 10', '9 first', 'B B', 'a a']);
  });
});
