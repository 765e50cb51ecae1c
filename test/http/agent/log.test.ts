import { expect } from 'chai';
import { useWorkerlessService } from '../../support/http/http-service.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';
import { call, generations, withAgent } from './agent-client.js';

describe('POST /mcp: the log', () => {
  const http = useWorkerlessService();
  const linesOf = (requestId: string) => {
    const lines = http.service.apis.flatMap((api) => api.logs()).filter((line) => line.includes(requestId));
    return lines.map((line) => JSON.parse(line) as object);
  };

  for (const generation of generations) {
    it(`warns once of a refusal with the code of a 5xx, and not of any other (${generation})`, async () => {
      const { materialIds, writeKey: key } = await createTestShop(http.database);
      await withAgent({ baseUrl: http.baseUrl, key, generation }, async (client) => {
        const refused = async (variantId = '') => {
          const args = { variantId, updates: [{ locationId: '1001', delta: 2 }] };
          const { isError, _meta } = await call(client, 'adjust_inventory', args);
          expect(isError).to.equal(true);
          return _meta?.['requestId'] as string;
        };
        const others = await refused('42');
        const requestId = await refused(materialIds[0]);
        await until(() => linesOf(requestId).length > 0, { deadlineMs: 5_000, what: 'the warning' });
        const [warning, ...more] = linesOf(requestId);
        expect(warning).to.deep.include({ requestId, route: '/mcp', tool: 'adjust_inventory', status: 200 });
        expect(warning).to.include({ code: 'SERVICE_UNAVAILABLE', msg: 'answered with a server error' });
        expect(warning).to.have.property('reason').that.contains('No worker of this database is running');
        expect(more).to.deep.equal([]);
        expect(linesOf(others)).to.deep.equal([]);
      });
    });
  }
});
