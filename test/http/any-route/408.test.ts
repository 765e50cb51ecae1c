import { expect } from 'chai';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

const roundsMax = 10;

describe('every path: 408', () => {
  const http = useHttpService();

  it('a head and a body that do not arrive in time are answered in our JSON and cut off, nothing is queued', async () => {
    const shop = await createTestShop(http.database);
    const head = `PATCH ${inventoryPath(shop.materialIds[0]!)} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n`;
    const slowHead = `GET ${listPath} HTTP/1.1\r\nHost: x\r\n`;
    const slowBody =
      `${head}Content-Type: application/json\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
      'Expect: 100-continue\r\n\r\n{"updates":';
    /** The answer to one whose body is awaited; again where the time was over before it came to that. */
    const untilAwaited = async (port: number) => {
      for (let round = 1; round <= roundsMax; round += 1) {
        const text = await rawUntilClosed(port, slowBody);
        if (text.startsWith('HTTP/1.1 100 ')) return text;
        expectError(parseAnswer(text), 'REQUEST_TIMEOUT');
      }
      return expect.fail(`no body was awaited in ${String(roundsMax)} rounds`);
    };
    await http.withApi({ HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '500' }, async ({ port }) => {
      const texts = await expectUntouched(http, shop.shopId, () =>
        Promise.all([rawUntilClosed(port, slowHead), untilAwaited(port)]),
      );
      const answers = texts.map(parseAnswer);
      for (const answer of answers) {
        expectError(answer, 'REQUEST_TIMEOUT');
        expect(answer.headers['connection']).to.equal('close');
      }
      // The key is known before a body is awaited, and its request has taken a point.
      expect(answers.map(({ headers }) => 'ratelimit' in headers)).to.deep.equal([false, true]);
    });
  });
});
