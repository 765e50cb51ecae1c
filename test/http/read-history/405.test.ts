import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('/v1/raw-materials/{variantId}/inventory/history: 405', () => {
  const http = useHttpService();

  it('for everything other than GET, with Allow: GET', async () => {
    const { writeKey, materialIds } = await createTestShop(http.database);
    const path = `${inventoryPath(materialIds[0] ?? '')}/history`;
    for (const method of ['PATCH', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await http.ask({ method, path, key: writeKey });
      expectError(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.allow, method).to.equal('GET');
    }
  });
});
