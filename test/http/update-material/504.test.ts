import { expect } from 'chai';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectHistory } from '../../support/http/opt-in-replies.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

describe('PATCH /v1/raw-materials/{variantId}: 504', () => {
  const http = useHttpService();

  it('queued and open, since its material is held; the same Idempotency-Key settles it, with one effect', async () => {
    const shop = await createTestShop(http.database);
    const { shopId, materialIds, writeKey: key } = shop;
    const [materialId = ''] = materialIds;
    const patch = { method: 'PATCH', path: materialPath(materialId), key, headers: { 'idempotency-key': 'k' } };
    const asked = { ...patch, body: { sku: 'x' } };
    await http.withApi({ WAIT_MS: '1000' }, async ({ baseUrl }) => {
      const open = await withLockedMaterial(http.database, { shopId, materialId }, () => ask(baseUrl, asked));
      expect(expectError(open, 'OUTCOME_UNKNOWN').message).to.contain('Idempotency-Key');
    });
    expect(expectData(await http.ask(asked), 'material')).to.include({ sku: 'x' });
    expectError(await http.ask({ ...asked, body: { sku: 'y' } }), 'IDEMPOTENCY_KEY_REUSED');
  });

  it('without a key the message says where to look, and for how long it is open', async () => {
    const { shopId, materialIds, writeKey: key } = await createTestShop(http.database);
    const [materialId = ''] = materialIds;
    const asked = { method: 'PATCH', path: materialPath(materialId), key, body: { sku: 'x', inventoryQuantity: 3 } };
    await http.withApi({ WAIT_MS: '1000' }, async ({ baseUrl }) => {
      const open = await withLockedMaterial(http.database, { shopId, materialId }, () => ask(baseUrl, asked));
      const { message } = expectError(open, 'OUTCOME_UNKNOWN');
      const history = `${inventoryPath(materialId)}/history?requestId=${String(open.headers['x-request-id'])}`;
      expect(message).to.contain(history);
      expect(message).to.contain(
        'Ten minutes from now, once /readyz answers 200, what it does not show never will be.',
      );
      // Nobody holds the material any more: the worker comes back to it.
      await until(async () => expectHistory(await http.ask({ path: history, key })).items.length === 1, {
        deadlineMs: 5_000,
        what: 'what was open to show where the message says',
      });
    });
  });

  it('without a key a change of fields alone, which no history has, is to be looked for in the material', async () => {
    const { shopId, materialIds, writeKey: key } = await createTestShop(http.database);
    const [materialId = ''] = materialIds;
    const asked = { method: 'PATCH', path: materialPath(materialId), key, body: { sku: 'x' } };
    await http.withApi({ WAIT_MS: '1000' }, async ({ baseUrl }) => {
      const open = await withLockedMaterial(http.database, { shopId, materialId }, () => ask(baseUrl, asked));
      const { message } = expectError(open, 'OUTCOME_UNKNOWN');
      expect(message).to.contain('Ten minutes from now, once /readyz answers 200, it is settled');
      expect(message).to.contain(`${materialPath(materialId)} `);
      expect(message).not.to.contain('history');
    });
  });
});
