import { ask, useHttpService } from '../../support/http-service.js';
import { withLockedTable } from '../../support/broken-storage.js';
import { createReferenceShop, waxBlendId } from '../../support/reference-shop.js';
import { materialPath } from '../../support/material-paths.js';
describe('probe', () => {
  const http = useHttpService();
  it('probes', async () => {
    const s = await createReferenceShop(http.database);
    await http.withApi({ READ_TIMEOUT_MS: '300' }, async ({ baseUrl, proc }) => {
      const a = await withLockedTable(http.database, 'materials', () => ask(baseUrl, { path: materialPath(waxBlendId), key: s.readKey }));
      console.log(a.text, proc.logs().slice(-6).join('\n'));
    });
  });
});
