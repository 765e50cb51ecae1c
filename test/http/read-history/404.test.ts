import { useHttpService } from '../../support/http/http-service.js';
import { impossibleIds, inventoryPath, unknownVirtualIds } from '../../support/http/material-paths.js';
import { expectSameNotFound } from '../../support/http/not-found.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}/inventory/history: 404', () => {
  const http = useHttpService();

  it('for a material that the shop does not have, with any filter', async () => {
    const { readKey } = await createTestShop(http.database);
    for (const id of [...unknownVirtualIds, ...impossibleIds, '123']) {
      for (const query of ['', '?requestId=00000000-0000-7000-8000-000000000000&locationId=1001']) {
        expectError(await http.ask({ path: `${inventoryPath(id)}/history${query}`, key: readKey }), 'NOT_FOUND');
      }
    }
  });

  it("for another shop's material, the same answer, also under the id of a request that changed it", async () => {
    const [own, other] = [await createTestShop(http.database), await createTestShop(http.database)];
    const path = inventoryPath(other.materialIds[0] ?? '');
    const body = { updates: [{ locationId: '1001', delta: 1 }] };
    const booked = await http.ask({ method: 'PATCH', path, key: other.writeKey, body });
    const unknown = await http.ask({ path: `${inventoryPath('VMAT-unknown')}/history`, key: own.readKey });
    const requestId = String(booked.headers['x-request-id']);
    for (const query of ['', `?requestId=${requestId}`]) {
      expectSameNotFound(await http.ask({ path: `${path}/history${query}`, key: own.readKey }), unknown);
    }
  });
});
