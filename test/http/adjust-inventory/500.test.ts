import { expect } from 'chai';
import { withFailingWrites } from '../../support/database/broken-storage.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}/inventory: 500', () => {
  const http = useHttpService();

  it('a fault of ours is not applied, says nothing of the inside, and the same key runs afresh', async () => {
    const shop = await createTestShop(http.database);
    const path = inventoryPath(shop.materialIds[0]!);
    const body = { updates: [{ locationId: '1001', delta: 2 }] };
    const asked = { method: 'PATCH', path, key: shop.writeKey, body, headers: { 'idempotency-key': 'k' } };
    const failed = await withFailingWrites(http.database, { table: 'ledger', shopId: shop.shopId }, () =>
      http.ask(asked),
    );
    expect(expectError(failed, 'INTERNAL_ERROR').details).to.equal(undefined);
    expect(failed.text).not.to.contain('secret detail');
    const read = { path, key: shop.readKey };
    expect(expectData(await http.ask(read), 'levels')).to.deep.include({ totalQuantity: 0, levels: [] });
    const again = await http.ask(asked);
    expectData(again, 'batch');
    expect(again.headers).not.to.have.property('idempotency-replayed');
    expect(expectData(await http.ask(read), 'levels')).to.include({ totalQuantity: 2 });
  });
});
