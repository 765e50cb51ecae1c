import { expect } from 'chai';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { withLockedMaterial, withLockedTable } from '../../support/database/broken-storage.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath } from '../../support/http/material-paths.js';
import { parseAnswer, parseAnswers, rawUntilClosed, textUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const batch = '{"updates":[{"locationId":"1001","delta":1}]}';

describe('a request behind one whose answer is under way', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  /** Writes bytes while the answer to their first request is held back; returns all that comes until the end. */
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

  it('a fault in its body: its 400 comes behind that answer, then the connection ends', async () => {
    const [materialId = ''] = shop.materialIds;
    const head =
      `PATCH ${inventoryPath(materialId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
      'Content-Type: application/json\r\n';
    const first = `${head}Content-Length: ${batch.length}\r\n\r\n${batch}`;
    const text = await sendWhile(
      (use) => withLockedMaterial(http.database, { shopId: shop.shopId, materialId }, use),
      `${first}${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    );
    const answers = parseAnswers(text);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 400]);
    expect(expectData(answers[0]!, 'batch')).to.include({ okCount: 1 });
    expectError(answers[1]!, 'INVALID_INPUT');
    expect(answers[1]!.headers['connection']).to.equal('close');
  });

  it('a change: it is begun after that answer, and a read behind it shows it', async () => {
    const [materialId = ''] = shop.materialIds;
    const path = inventoryPath(materialId);
    const head = (method: string) =>
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n`;
    const change = (body: string | Buffer, headers = '') =>
      Buffer.concat([
        Buffer.from(
          `${head('PATCH')}Content-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n`,
        ),
        Buffer.from(body),
      ]);
    const setTo = (absolute: number) => JSON.stringify({ updates: [{ locationId: shop.locationIds[0], absolute }] });
    for (let turn = 1; turn <= 5; turn += 1) {
      const socket = connect({ port: http.port, host: '127.0.0.1' });
      const text = textUntilClosed(socket);
      // Inflating a body takes another turn of the event loop: side by side, the second change would come first.
      const first = change(gzipSync(setTo(2 * turn)), 'Content-Encoding: gzip\r\n');
      const read = Buffer.from(`${head('GET')}Connection: close\r\n\r\n`);
      socket.write(Buffer.concat([first, change(setTo(2 * turn + 1)), read]));
      const answers = parseAnswers(await text);
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
      expect(expectData(answers[2]!, 'levels')).to.have.property('totalQuantity', 2 * turn + 1);
    }
  });

  it('one to upgrade: it is the last of its connection, and what Node drops behind it is never half of a request', async () => {
    const [materialId = ''] = shop.materialIds;
    const upgrade = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
    const head =
      `PATCH ${inventoryPath(materialId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${batch.length}\r\n\r\n`;
    await expectUntouched(http, shop.shopId, async () => {
      const socket = connect({ port: http.port, host: '127.0.0.1' });
      const text = textUntilClosed(socket);
      socket.write(upgrade + head);
      expectData(await http.ask({ path: '/healthz' }), 'status');
      socket.write(batch);
      const answer = parseAnswer(await text);
      expectData(answer, 'status');
      expect(answer.headers['connection']).to.equal('close');
    });
  });

  it('thousands of changes: each is answered, in its order, and the connection is read on as they are', async () => {
    const count = 3_000;
    const change = (number: number) => `PATCH /nowhere-${number} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`;
    const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const bytes = Array.from({ length: count }, (_, number) => change(number)).join('') + last;
    const statuses = parseAnswers(await rawUntilClosed(http.port, bytes)).map(({ status }) => status);
    expect(statuses.slice(0, -1).filter((status) => status === 401)).to.have.length(count);
    expect(statuses.at(-1)).to.equal(200);
  });
});
