import { expect } from 'chai';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { parseAnswers, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

describe('every write: 503 behind another on its connection', () => {
  const http = useHttpService();

  it('that took so long that its own body was not read in time; the log says why, as of any other', async () => {
    const { shopId, materialIds, writeKey } = await createTestShop(http.database);
    const [materialId = ''] = materialIds;
    const body = JSON.stringify({ updates: [{ locationId: '1001', delta: 1 }] });
    const patch =
      `PATCH ${inventoryPath(materialId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${writeKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const times = { HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '500', WAIT_MS: '3000' };
    await http.withApiProcess(times, async ({ port, proc }) => {
      const text = await withLockedMaterial(http.database, { shopId, materialId }, () =>
        rawUntilClosed(port, `${patch}${body}${patch}${body.slice(1)}`),
      );
      const [before, answer = expect.fail(text)] = parseAnswers(text);
      expect(before).to.have.property('status', 504);
      const { message } = expectError(answer, 'SERVICE_UNAVAILABLE');
      expect(message).to.contain('before it on this connection');
      const lines = () => proc.logs().filter((line) => line.includes(String(answer.headers['x-request-id'])));
      await until(() => lines().length > 0, { deadlineMs: 5_000, what: 'the warning' });
      expect(lines()).to.have.length(1);
      expect(JSON.parse(lines()[0] ?? '')).to.include({
        msg: 'answered with a server error',
        status: 503,
        code: 'SERVICE_UNAVAILABLE',
        reason: message,
      });
    });
  });
});
