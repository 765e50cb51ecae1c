import { expect } from 'chai';
import { connect } from 'node:net';
import { withLockedTable } from '../../support/broken-storage.js';
import { useHttpService } from '../../support/http-service.js';
import { listPath } from '../../support/material-paths.js';
import { parseAnswers, textUntilClosed } from '../../support/raw-exchange.js';
import { expectData } from '../../support/reply.js';
import { createTestShop } from '../../support/shop.js';
import type { TestShop } from '../../support/shop.js';

describe('a request behind one whose answer is under way', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  /** Writes bytes while the answer to the first request among them is held back; everything that comes until the end. */
  async function sendWhile(hold: (use: () => Promise<void>) => Promise<void>, bytes: string): Promise<string> {
    const socket = connect({ port: http.port, host: '127.0.0.1' });
    const text = textUntilClosed(socket);
    await hold(async () => {
      socket.write(bytes);
      // An exchange on another connection shows that what was written before it has been read.
      expectData(await http.ask({ path: '/healthz' }), 'status');
    });
    return text;
  }

  it('CONNECT: the answer is given and nothing is written into it, then the connection ends', async () => {
    const list = `GET ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\n\r\n`;
    const text = await sendWhile(
      (use) => withLockedTable(http.database, 'materials', use),
      `${list}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    const answers = parseAnswers(text);
    expect(answers.map(({ status }) => status)).to.deep.equal([200]);
    expectData(answers[0]!, 'list');
  });
});
