import { expect } from 'chai';
import { withoutTable } from '../../support/database/broken-storage.js';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials: 500', () => {
  const http = useHttpService();

  it('a fault of ours says nothing of the inside, and the next request is served', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: listPath, key: shop.readKey };
    const answer = await withoutTable(http.database, 'bill_components', () => http.ask(asked));
    expect(expectError(answer, 'INTERNAL_ERROR').details).to.equal(undefined);
    expect(answer.text).not.to.match(/bill_components|relation|select|error:|\bat\b.*\.(js|ts)/i);
    expectData(await http.ask(asked), 'list');
  });
});
