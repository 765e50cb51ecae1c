import { expect } from 'chai';
import { withLockedTable } from '../../support/broken-storage.js';
import { ask, useHttpService } from '../../support/http-service.js';
import { materialPath } from '../../support/material-paths.js';
import { expectData, expectError } from '../../support/reply.js';
import { createTestShop } from '../../support/shop.js';

describe('GET /v1/raw-materials/{variantId}: 503', () => {
  const http = useHttpService();

  it('a read that Postgres does not answer in time is given up, and works again once it does', async () => {
    const shop = await createTestShop(http.database);
    const asked = { path: materialPath(shop.materialIds[0]!), key: shop.readKey };
    await http.withApi({ READ_TIMEOUT_MS: '300' }, async ({ baseUrl }) => {
      const answer = await withLockedTable(http.database, 'materials', () => ask(baseUrl, asked));
      expectError(answer, 'SERVICE_UNAVAILABLE');
      expect(Number(answer.headers['retry-after'])).to.be.at.least(1);
      expectData(await ask(baseUrl, asked), 'material');
    });
  });
});
