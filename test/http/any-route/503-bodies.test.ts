import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { brotliCompressSync, constants } from 'node:zlib';
import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 15_000;
/** As many bodies of a MiB as a shop may have in hand. */
const bodiesMax = 12;
const mebibyte = 1_048_576;

describe('every write: 503 for want of memory', () => {
  const http = useHttpService();
  let shop: TestShop;
  let stalled: Socket[];
  beforeEach(async () => {
    shop = await createTestShop(http.database);
    stalled = [];
  });
  afterEach(() => {
    for (const socket of stalled) socket.destroy();
  });

  const path = ({ materialIds: [id = ''] }: TestShop) => `/v1/raw-materials/${id}`;
  const update = (of: TestShop, bytes: number) =>
    http.ask({ method: 'PATCH', path: path(of), key: of.writeKey, body: `{"junk":"${'x'.repeat(bytes)}"}` });
  /** A body that has all but its last byte; a read key is enough. */
  const stall = () => {
    const socket = connect({ port: http.port, host: '127.0.0.1' });
    const head = `POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\nContent-Type: application/json\r\n`;
    socket.on('error', () => undefined).write(`${head}Content-Length: ${mebibyte}\r\n\r\n${' '.repeat(mebibyte - 1)}`);
    stalled.push(socket);
  };

  it('where the shop has too many large bodies on their way; small ones and other shops pass, and it ends with them', async () => {
    const other = await createTestShop(http.database);
    for (let count = 0; count < bodiesMax; count += 1) stall();
    await until(async () => (await update(shop, mebibyte / 2)).status === 503, {
      deadlineMs: soonMsMax,
      what: 'all of them to be read',
    });
    const refused = await update(shop, mebibyte / 2);
    expectError(refused, 'SERVICE_UNAVAILABLE');
    expect(Number(refused.headers['retry-after'])).to.be.at.least(1);
    expectData(await update(shop, 1_000), 'material');
    expectData(await update(other, mebibyte / 2), 'material');
    for (const socket of stalled) socket.destroy();
    expectData(await update(shop, mebibyte / 2), 'material');
  });

  it('and not for many small bodies that would be large, one of which is inflated at a time', async () => {
    const bomb = brotliCompressSync(Buffer.alloc(17_000_000, 32), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } });
    expect(bomb.length).to.be.below(100);
    const answers = await Promise.all(
      Array.from({ length: bodiesMax }, () =>
        fetch(`http://127.0.0.1:${http.port}${path(shop)}`, {
          method: 'PATCH',
          headers: {
            Authorization: `Bearer ${shop.writeKey}`,
            'Content-Type': 'application/json',
            'Content-Encoding': 'br',
          },
          body: bomb,
        }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([413]));
  });
});
