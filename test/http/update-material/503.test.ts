import { expect } from 'chai';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useWorkerlessService } from '../../support/http/http-service.js';
import { materialPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}: 503', () => {
  const http = useWorkerlessService();

  it('no worker is running: refused before it is queued, and what needs no worker is still answered', async () => {
    const shop = await createTestShop(http.database);
    const asked = { method: 'PATCH', path: materialPath(shop.materialIds[0]!), key: shop.writeKey };
    const answer = await expectUntouched(http, shop.shopId, () => http.ask({ ...asked, body: { sku: 'x' } }));
    expectError(answer, 'SERVICE_UNAVAILABLE');
    expect(Number(answer.headers['retry-after'])).to.be.within(1, 3);
    expectData(await http.ask({ ...asked, body: {} }), 'material');
    expectData(await http.ask({ path: asked.path, key: shop.readKey }), 'material');
  });
});
