import { expect } from 'chai';
import { useHttpService } from '../../support/http-service.js';
import { materialPath } from '../../support/material-paths.js';
import { expectData, expectError } from '../../support/reply.js';
import { createTestShop } from '../../support/shop.js';

describe('PATCH /v1/raw-materials/{variantId}: 422', () => {
  const http = useHttpService();

  it('an Idempotency-Key with another body applies nothing, and the first answer is still replayed', async () => {
    const shop = await createTestShop(http.database, { materials: 2 });
    const [id = '', other = ''] = shop.materialIds;
    const patch = (path: string, body: unknown) =>
      http.ask({ method: 'PATCH', path, key: shop.writeKey, body, headers: { 'idempotency-key': 'k' } });
    const first: unknown = expectData(await patch(materialPath(id), { sku: '1' }), 'material');
    expectError(await patch(materialPath(id), { sku: '2' }), 'IDEMPOTENCY_KEY_REUSED');
    expect(expectData(await http.ask({ path: materialPath(id), key: shop.readKey }), 'material')).to.deep.equal(first);
    expect(expectData(await patch(materialPath(id), { sku: '1' }), 'material')).to.deep.equal(first);
    // Remembered for the path: the same key on another material is another key.
    expect(expectData(await patch(materialPath(other), { sku: '2' }), 'material')).to.include({ sku: '2' });
  });
});
