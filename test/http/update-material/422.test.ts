import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { materialPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

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

  for (const nothing of [{}, { productname: 'case matters' }]) {
    const body = JSON.stringify(nothing);

    it(`${body} under the key of another request is 422, and under a new one is remembered like any other`, async () => {
      const shop = await createTestShop(http.database);
      const path = materialPath(shop.materialIds[0]!);
      const patch = (sent: unknown, key: string, more: Record<string, string> = {}) =>
        http.ask({
          method: 'PATCH',
          path,
          key: shop.writeKey,
          body: sent,
          headers: { 'idempotency-key': key, ...more },
        });
      expectData(await patch({ sku: '1' }, 'used'), 'material');
      expectError(await patch(nothing, 'used'), 'IDEMPOTENCY_KEY_REUSED');

      const before: unknown = expectData(await http.ask({ path, key: shop.readKey }), 'material');
      const first = await patch(nothing, 'new');
      expect(expectData(first, 'material')).to.deep.equal(before);
      expect(first.headers).to.include({ etag: '"2"' }).and.not.have.property('idempotency-replayed');
      expect(expectData(await http.ask({ path, key: shop.readKey }), 'material')).to.deep.equal(before);

      expectError(await patch(nothing, 'stale', { 'if-match': '"1"' }), 'PRECONDITION_FAILED');
      expectError(await patch({ sku: '2' }, 'new'), 'IDEMPOTENCY_KEY_REUSED');
      expectData(await patch({ sku: '2' }, 'other'), 'material');
      const again = await patch(nothing, 'new');
      expect(expectData(again, 'material')).to.deep.equal(before);
      expect(again.headers).to.include({ etag: '"2"', 'idempotency-replayed': 'true' });
    });
  }
});
