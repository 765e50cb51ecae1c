import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}/inventory: 409', () => {
  const http = useHttpService();

  it('every row expected another level: one CONFLICT with the rows in details, nothing applied, and remembered', async () => {
    const shop = await createTestShop(http.database);
    const path = inventoryPath(shop.materialIds[0]!);
    const patch = (updates: object[], headers: Record<string, string> = {}) =>
      http.ask({ method: 'PATCH', path, key: shop.writeKey, body: { updates }, headers });
    expectData(await patch([{ locationId: '1001', absolute: 5 }]), 'batch');
    const rows = [
      { locationId: '1001', delta: 1, expected: 4.999999 },
      { locationId: '1002', absolute: 1, expected: -0.5 },
    ];
    const key = { 'idempotency-key': 'k' };
    const { details } = expectError(await patch(rows, key), 'CONFLICT');
    expect(details?.map((detail) => detail.path)).to.deep.equal(['/updates/0', '/updates/1']);
    expect(details?.[0]?.message).to.contain('5').and.to.contain('4.999999');
    expect(expectData(await http.ask({ path, key: shop.readKey }), 'levels')).to.include({ totalQuantity: 5 });
    const again = await patch(rows, key);
    expectError(again, 'CONFLICT');
    expect(again.headers['idempotency-replayed']).to.equal('true');
  });
});
