import { connect } from 'node:net';
import { expectUntouched } from '../../support/shop/footprint.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { parseAnswer, textUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

const batch = '{"updates":[{"locationId":"1001","delta":1}]}';

describe('every path: 417', () => {
  const http = useHttpService();

  it('an expectation that is not known: nothing is queued and nothing stored', async () => {
    const shop = await createTestShop(http.database);
    const head = `PATCH ${inventoryPath(shop.materialIds[0]!)} HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n`;
    const text = `${head}Authorization: Bearer ${shop.writeKey}\r\nContent-Type: application/json\r\n`;
    const answer = await expectUntouched(http, shop.shopId, async () =>
      parseAnswer(await raw(http.port, `${text}Content-Length: ${batch.length}\r\n\r\n${batch}`)),
    );
    expectError(answer, 'EXPECTATION_FAILED');
  });

  it('and then what is no HTTP in the body of that request: nothing is written behind the answer', async () => {
    const socket = connect({ port: http.port, host: '127.0.0.1' });
    const text = textUntilClosed(socket);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    const head = 'PATCH /v1/raw-materials/VMAT-1 HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n';
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    await answered;
    // The answer lets go of its connection in a later turn; an exchange on another connection shows that it has.
    expectData(await http.ask({ path: '/healthz' }), 'status');
    socket.write('zz\r\n');
    expectError(parseAnswer(await text), 'EXPECTATION_FAILED');
  });
});
