import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, adjust, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/** More than a worker's lanes, so that each of them meets a booking that has to wait. */
const heldMaterials = 8;
const changesBeside = 50;

describe('a location that another session of Postgres holds', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  before(async () => {
    // What waits for the location must still be waited for when it is free, however slow this machine is.
    service = await startService({ apiEnv: { WAIT_MS: '60000', SHUTDOWN_TIMEOUT_MS: '70000' } });
    database = connectForTest(service.databaseUrl, { poolMax: 2 });
    shop = await createTestShop(database, { materials: heldMaterials + 1 });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });

  it('holds up the first bookings there, which are done once it is free, and nobody beside them', async () => {
    const [baseUrl = ''] = service.baseUrls;
    const waiting = shop.materialIds.slice(0, heldMaterials);
    const [besideId = ''] = shop.materialIds.slice(heldMaterials);
    const [, elsewhere = ''] = shop.locationIds;
    const first = await database.transaction(async (other) => {
      const place = [shop.shopId, shop.locationIds[0] ?? ''];
      await other.raw('SELECT 1 FROM locations WHERE shop_id = ? AND id = ? FOR UPDATE', place);
      const asked = waiting.map((materialId) => addOne(baseUrl, shop, { materialId }));
      for (let count = 0; count < changesBeside; count += 1) {
        const rows = [{ locationId: elsewhere, delta: 1 }];
        expect((await adjust(baseUrl, shop, rows, { materialId: besideId })).status).to.equal(200);
      }
      return asked;
    });
    expect((await Promise.all(first)).map(({ status }) => status)).to.deep.equal(Array(heldMaterials).fill(200));
    for (const materialId of waiting) expect(await totalOf(database, shop, materialId)).to.equal(1);
    expect(await totalOf(database, shop, besideId)).to.equal(changesBeside);
    const [worker] = service.workers;
    expect(worker?.logs().filter((line) => line.includes('overstayed its time'))).to.deep.equal([]);
  });
});
