import { expect } from 'chai';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { createTestShop } from '../../support/shop/shop.js';
import { call, dataOf, errorOf, withAgent } from './agent-client.js';

describe('POST /mcp: what a write leaves behind', () => {
  const http = useHttpService();

  it('the ledger names the channel, the key and the HTTP request, whose id is the operation', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const updates = [{ locationId: '1001', delta: 1, reference: 'order 7' }];
      const result = await call(client, 'adjust_inventory', { variantId, updates });
      const requestId = result._meta?.['requestId'];
      const { items } = (await dataOf(client, 'get_inventory_history', { variantId, requestId })) as {
        items: object[];
      };
      expect(items).to.have.length(1);
      expect(items[0]).to.include({
        channel: 'mcp',
        keyId: parseKey(shop.writeKey)?.id,
        requestId,
        operationId: requestId,
        reference: 'order 7',
      });
    });
  });

  it('a call repeated with its idempotency key is applied once and says that it is a repeat', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    const args = { variantId, updates: [{ locationId: '1001', delta: 2 }], idempotencyKey: 'k' };
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const [first, second] = [
        await call(client, 'adjust_inventory', args),
        await call(client, 'adjust_inventory', args),
      ];
      expect(second.structuredContent).to.deep.equal(first.structuredContent);
      expect(first._meta).not.to.have.property('idempotencyReplayed');
      expect(second._meta).to.include({ idempotencyReplayed: true });
      const third = await call(client, 'adjust_inventory', { ...args, dryRun: false });
      expect(third._meta, 'false is what none means').to.include({ idempotencyReplayed: true });
      expect(second._meta?.['requestId']).not.to.equal(first._meta?.['requestId']);
      const other = { ...args, updates: [{ locationId: '1001', delta: 3 }] };
      await errorOf(client, 'adjust_inventory', other, 'IDEMPOTENCY_KEY_REUSED');
      await errorOf(client, 'adjust_inventory', { ...args, dryRun: true }, 'IDEMPOTENCY_KEY_REUSED');
      expect(await dataOf(client, 'get_inventory', { variantId })).to.include({ totalQuantity: 2 });
    });
  });

  it("a key is a tool's and a material's own, and not that of REST", async () => {
    const shop = await createTestShop(http.database, { materials: 2 });
    const [variantId = '', otherId = ''] = shop.materialIds;
    const updates = [{ locationId: '1001', delta: 2 }];
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      await dataOf(client, 'adjust_inventory', { variantId, updates, idempotencyKey: 'k' });
      await dataOf(client, 'adjust_inventory', { variantId: otherId, updates, idempotencyKey: 'k' });
      await dataOf(client, 'update_raw_material', { variantId, changes: { sku: 'S' }, idempotencyKey: 'k' });
      const path = inventoryPath(variantId);
      const headers = { 'idempotency-key': 'k' };
      const patched = await http.ask({ method: 'PATCH', path, key: shop.writeKey, headers, body: { updates } });
      expect(patched.status).to.equal(200);
      expect(patched.headers).not.to.have.property('idempotency-replayed');
      expect(await dataOf(client, 'get_inventory', { variantId })).to.include({ totalQuantity: 4 });
    });
  });
});
