import { expect } from 'chai';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}/inventory: 504', () => {
  const http = useHttpService();

  it('queued and open, since its material is held; the same Idempotency-Key settles it, with one effect', async () => {
    const { shopId, materialIds, writeKey: key } = await createTestShop(http.database);
    const [materialId = ''] = materialIds;
    const path = inventoryPath(materialId);
    const body = { updates: [{ locationId: '1001', delta: 2 }] };
    const asked = { method: 'PATCH', path, key, body, headers: { 'idempotency-key': 'k' } };
    await http.withApi({ WAIT_MS: '1000' }, async ({ baseUrl }) => {
      const open = await withLockedMaterial(http.database, { shopId, materialId }, () => ask(baseUrl, asked));
      expect(expectError(open, 'OUTCOME_UNKNOWN').message).to.contain('Idempotency-Key');
    });
    expect(expectData(await http.ask(asked), 'batch')).to.include({ okCount: 1 });
    expect(expectData(await http.ask({ path, key }), 'levels')).to.include({ totalQuantity: 2 });
  });
});
