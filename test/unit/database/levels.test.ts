import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { findLevels } from '../../../shared/database/levels.js';
import { addLocations } from '../../../shared/database/locations.js';
import { createShop } from '../../../shared/database/shops.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

const material = 'VMAT-one';

describe('the levels of a material', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;
  let otherShopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4, pipeline: true });
    // As in a database that sorts by language: without its own order, `a` would come before `B`.
    await database.raw('ALTER TABLE locations ALTER COLUMN id TYPE text COLLATE "und-x-icu"');
    await database.raw('ALTER TABLE levels ALTER COLUMN location_id TYPE text COLLATE "und-x-icu"');
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced' })).id;
    otherShopId = (await createShop(database, { name: 'two', plan: 'enhanced' })).id;
    for (const shop of [shopId, otherShopId]) {
      await addLocations(
        database,
        shop,
        ['10', '9', 'a', 'B', 'é'].map((id) => ({ id, name: id })),
      );
      const ids = [material, 'VMAT-empty', 'VMAT-both-cases'];
      await createMaterials(
        database,
        shop,
        ids.map((id) => ({ id, origin: 'virtual', productName: id })),
      );
    }
    const mirrored = { id: '55', origin: 'platform', productName: 'm', mirroredQuantity: 4_000_000 } as const;
    await createMaterials(database, shopId, [mirrored]);
    const levels = [level('a', 1_500_000), level('9', 250_000), level('10', 0), level('é', 1)];
    await bookStock(database, shopId, [
      { materialId: material, levels },
      { materialId: 'VMAT-both-cases', levels: [level('a', 1), level('B', 2_000_000)] },
    ]);
  });

  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  async function read(materialId: string, locationIds?: string[], shop = shopId) {
    const found = await findLevels(database, shop, materialId, locationIds);
    return found && { total: found.totalQuantity, at: found.levels.map((one) => [one.locationId, one.quantity]) };
  }

  it('without a filter are those booked, at 0 too, sorted by location bytewise', async () => {
    const at = [
      ['10', 0],
      ['9', 0.25],
      ['a', 1.5],
      ['é', 0.000001],
    ];
    expect(await read(material)).to.deep.equal({ total: 1.750001, at });
    expect(await read('VMAT-both-cases')).to.have.deep.property('at', [
      ['B', 2],
      ['a', 0.000001],
    ]);
  });

  it('with a filter are those asked for that the shop has, at 0 where nothing was booked; the total is of all', async () => {
    const asked = ['a', 'B', 'nowhere', '9', 'a'];
    const at = [
      ['9', 0.25],
      ['B', 0],
      ['a', 1.5],
    ];
    expect(await read(material, asked)).to.deep.equal({ total: 1.750001, at });
  });

  it('say when each was last booked, and null where nothing was', async () => {
    const found = await findLevels(database, shopId, material, ['a', 'B']);
    expect(found?.levels[0]).to.deep.equal({ locationId: 'B', quantity: 0, updatedAt: null });
    expect(found?.levels[1]?.updatedAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('of a material without stock are none, and a filter still finds its locations', async () => {
    expect(await read('VMAT-empty')).to.deep.equal({ total: 0, at: [] });
    expect(await read('VMAT-empty', ['a'])).to.deep.equal({ total: 0, at: [['a', 0]] });
    expect(await read('VMAT-empty', ['nowhere'])).to.deep.equal({ total: 0, at: [] });
    expect(await read('VMAT-empty', [])).to.deep.equal({ total: 0, at: [] });
  });

  it('of a material that does not exist are not found, with or without a filter', async () => {
    expect(await read('VMAT-none')).to.equal(undefined);
    expect(await read('VMAT-none', ['a'])).to.equal(undefined);
  });

  it('of a platform material are the mirrored total alone', async () => {
    expect(await read('55')).to.deep.equal({ total: 4, at: [] });
  });

  it('of the same material and locations in another shop are its own', async () => {
    expect(await read(material, ['a'], otherShopId)).to.deep.equal({ total: 0, at: [['a', 0]] });
  });
});

function level(locationId: string, quantity: number) {
  return { locationId, quantity };
}
