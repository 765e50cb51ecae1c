import { expect } from 'chai';
import { connect } from 'node:net';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { parseAnswer, parseAnswers, textUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
const batch = '{"updates":[{"locationId":"1001","delta":1}]}';

describe('a body that is held back: 100', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  interface Asked {
    key?: string;
    type?: string;
    bytes?: number;
  }
  const headOf = ({ key = shop.writeKey, type = 'application/json', bytes = batch.length }: Asked) =>
    `PATCH ${inventoryPath(shop.materialIds[0]!)} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n` +
    `Authorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\n\r\n`;
  const open = () => connect({ port: http.port, host: '127.0.0.1' });

  it('is asked for once everything before it is taken, and then the request is served', async () => {
    const socket = open();
    const text = textUntilClosed(socket);
    socket.write(headOf({}).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(batch);
    const bytes = await text;
    expect(bytes.startsWith(goOn), bytes).to.equal(true);
    expect(expectData(parseAnswer(bytes), 'batch')).to.include({ okCount: 1 });
  });

  const refusals: [title: string, asked: () => Asked, code: Parameters<typeof expectError>[1]][] = [
    ['an unknown key', () => ({ key: 'unknown' }), 'UNAUTHORIZED'],
    ['a key that may only read', () => ({ key: shop.readKey }), 'FORBIDDEN_SCOPE'],
    ['another content type', () => ({ type: 'text/csv' }), 'UNSUPPORTED_MEDIA_TYPE'],
    ['a length over the limit', () => ({ bytes: 1_048_577 }), 'PAYLOAD_TOO_LARGE'],
  ];
  for (const [title, asked, code] of refusals) {
    it(`is not asked for with ${title}: the refusal comes at once, and ends the connection`, async () => {
      const answer = await expectUntouched(http, shop.shopId, async () => {
        const socket = open();
        const text = textUntilClosed(socket);
        socket.write(headOf(asked()));
        const bytes = await text;
        expect(bytes, 'nobody sends what is refused already').not.to.contain(goOn);
        return parseAnswer(bytes);
      });
      expectError(answer, code);
      expect(answer.headers['connection'], 'what comes on it may be the body or not').to.equal('close');
    });
  }

  it('and a client that did not wait for the word still has its refusal, whole', async () => {
    const socket = open();
    const text = textUntilClosed(socket);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(headOf({ key: 'unknown', bytes: 3_000_000 }));
    socket.write('x'.repeat(3_000_000));
    expectError(parseAnswer(await text), 'UNAUTHORIZED');
    expect(await closed, 'whether the connection was reset').to.equal(false);
  });

  it('a request that announces no body holds nothing back: its connection goes on', async () => {
    const socket = open();
    const text = textUntilClosed(socket);
    const get = `GET /v1/raw-materials HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\n`;
    socket.write(`${get}Expect: 100-continue\r\n\r\n${get}Connection: close\r\n\r\n`);
    const answers = parseAnswers(await text);
    expect(answers).to.have.length(2);
    for (const answer of answers) expectData(answer, 'list');
  });
});
