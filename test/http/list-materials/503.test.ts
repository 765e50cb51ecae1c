import { expect } from 'chai';
import { withLockedTable } from '../../support/broken-storage.js';
import { expectGivenUp } from '../../support/given-up.js';
import { ask, useHttpService } from '../../support/http-service.js';
import { listPath } from '../../support/material-paths.js';
import { expectData, expectError } from '../../support/reply.js';
import { createTestShop } from '../../support/shop.js';

describe('GET /v1/raw-materials: 503', () => {
  const http = useHttpService();

  it('a read that Postgres does not answer in time is given up, and works again once it does', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: listPath, key: shop.readKey };
    await expectGivenUp(http, { table: 'materials', asked, kind: 'list' });
  });

  it('what was searched for is in no line about it, neither of the statement that overstays nor of one that finds no connection', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: `${listPath}?search=conf1dential&vendorFilter=conf1dential`, key: shop.readKey };
    await http.withApi({ DATABASE_POOL_MAX: '1', READ_TIMEOUT_MS: '4000' }, async ({ baseUrl, proc }) => {
      expectData(await ask(baseUrl, asked), 'list');
      await withLockedTable(http.database, 'materials', async () => {
        for (const answer of await Promise.all([ask(baseUrl, asked), ask(baseUrl, asked)])) {
          expectError(answer, 'SERVICE_UNAVAILABLE');
        }
      });
      const lines = proc.logs().join('\n');
      expect(lines).to.contain('Query read timeout').and.contain('Timeout acquiring a connection');
      expect(lines).to.not.contain('conf1dential');
    });
  });
});
