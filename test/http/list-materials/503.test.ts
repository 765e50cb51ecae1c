import { expect } from 'chai';
import { withLockedTable } from '../../support/database/broken-storage.js';
import { expectGivenUp } from '../../support/http/given-up.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials: 503', () => {
  const http = useHttpService();

  it('a read that Postgres does not answer in time is given up, and works again once it does', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: listPath, key: shop.readKey };
    await expectGivenUp(http, { table: 'materials', asked, kind: 'list' });
  });

  it('a read that Postgres itself ends is told alike, since Postgres is not away', async () => {
    const shop = await createTestShop(http.database);
    const bounded = new URL(http.service.databaseUrl);
    bounded.searchParams.set('options', '-c statement_timeout=300ms');
    await http.withApiProcess({ DATABASE_URL: bounded.href }, async ({ baseUrl, proc }) => {
      await withLockedTable(http.database, 'materials', async () => {
        const { message } = expectError(
          await ask(baseUrl, { path: listPath, key: shop.readKey }),
          'SERVICE_UNAVAILABLE',
        );
        expect(message).to.equal('The database took too long to answer. This request was not applied.');
        expectData(await ask(baseUrl, { path: '/readyz' }), 'status');
      });
      const lines = proc.logs().join('\n');
      expect(lines).to.contain('due to statement timeout').and.not.contain('Postgres is away');
    });
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
