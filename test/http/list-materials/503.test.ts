import { expect } from 'chai';
import { withLockedTable } from '../../support/database/broken-storage.js';
import { expectGivenUp } from '../../support/http/given-up.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials: 503', () => {
  const http = useHttpService();

  it('a read that Postgres does not answer in time is given up, and works again once it does', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: listPath, key: shop.readKey };
    await expectGivenUp(http, { table: 'materials', asked, kind: 'list' });
  });

  it('what was searched for is in no line about it', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: `${listPath}?search=conf1dential&vendorFilter=conf1dential`, key: shop.readKey };
    await http.withApiProcess({ READ_TIMEOUT_MS: '300' }, async ({ baseUrl, proc }) => {
      await withLockedTable(http.database, 'materials', async () => {
        expectError(await ask(baseUrl, asked), 'SERVICE_UNAVAILABLE');
      });
      const lines = proc.logs().join('\n');
      expect(lines).to.contain('Query read timeout').and.not.contain('conf1dential');
    });
  });
});
