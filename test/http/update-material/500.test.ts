import { expect } from 'chai';
import { withFailingWrites } from '../../support/database/broken-storage.js';
import { useHttpService } from '../../support/http/http-service.js';
import { materialPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}: 500', () => {
  const http = useHttpService();

  it('a fault of ours is not applied, says nothing of the inside, and the same key runs afresh', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: materialPath(shop.materialIds[0]!), key: shop.writeKey };
    const patch = { ...asked, method: 'PATCH', body: { sku: 'x' }, headers: { 'idempotency-key': 'k' } };
    const before: unknown = expectData(await http.ask(asked), 'material');
    const failed = await withFailingWrites(http.database, { table: 'materials', shopId: shop.shopId }, () =>
      http.ask(patch),
    );
    expect(expectError(failed, 'INTERNAL_ERROR').details).to.equal(undefined);
    expect(failed.text).not.to.contain('secret detail');
    expect(expectData(await http.ask(asked), 'material')).to.deep.equal(before);
    const again = await http.ask(patch);
    expect(expectData(again, 'material')).to.include({ sku: 'x' });
    expect(again.headers).not.to.have.property('idempotency-replayed');
  });
});
