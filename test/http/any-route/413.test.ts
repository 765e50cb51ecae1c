import { expect } from 'chai';
import { connect } from 'node:net';
import { constants, deflateSync, gzipSync } from 'node:zlib';
import { expectUntouched } from '../../support/shop/footprint.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { parseAnswer, rawUntilClosed, textUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const bodyBytesMax = 1_048_576;
/** After a refusal 16 MiB more are read; the rest is what the kernels of both ends may hold. */
const sentBytesMax = 32 * bodyBytesMax;
/** A field update of exactly so many bytes, of which nothing is recognised. */
const ofBytes = (bytes: number) => `{"junk":"${'x'.repeat(bytes - 11)}"}`;

/** Whole so far, and open for more. */
const unfinished = { finishFlush: constants.Z_SYNC_FLUSH };
const encoders = [
  ['gzip', (bytes: Buffer) => gzipSync(bytes, unfinished)],
  ['deflate', (bytes: Buffer) => deflateSync(bytes, unfinished)],
] as const;

describe('every write: 413', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  it('a body of 1 MiB is not too large', async () => {
    const path = `/v1/raw-materials/${shop.materialIds[0]!}`;
    const body = ofBytes(bodyBytesMax);
    expect(body.length).to.equal(bodyBytesMax);
    expectData(await http.ask({ method: 'PATCH', path, key: shop.writeKey, body }), 'material');
  });

  for (const { title, asked } of routes.filter(({ scope }) => scope === 'write')) {
    const head = () =>
      `PATCH ${asked(shop).path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
      'Content-Type: application/json\r\n';
    const refuse = async (bytes: Buffer | string) => {
      const answer = await expectUntouched(http, shop.shopId, async () =>
        parseAnswer(await rawUntilClosed(http.port, bytes)),
      );
      expectError(answer, 'PAYLOAD_TOO_LARGE');
      expect(answer.headers['connection'], 'what follows on it is the rest of a body').to.equal('close');
    };

    it(`${title} with a byte more than 1 MiB`, () =>
      refuse(`${head()}Content-Length: ${bodyBytesMax + 1}\r\n\r\n${ofBytes(bodyBytesMax + 1)}`));

    it(`${title} with a length over the limit is refused at once, without waiting for the body`, async () => {
      const answer = parseAnswer(await raw(http.port, `${head()}Content-Length: 9007199254740991\r\n\r\n{`));
      expectError(answer, 'PAYLOAD_TOO_LARGE');
    });

    it(`${title} with a client that sends on and on: it is cut off long before its time is over`, async () => {
      const socket = connect({ port: http.port, host: '127.0.0.1' });
      const text = textUntilClosed(socket);
      const part = Buffer.alloc(65_536, 'x');
      // In a turn of its own each: otherwise this client does not read as long as the kernel takes what it sends.
      const sendOn = () => setImmediate(() => socket.destroyed || socket.write(part));
      socket.on('drain', sendOn).write(`${head()}Content-Length: 9007199254740991\r\n\r\n`);
      sendOn();
      expectError(parseAnswer(await text), 'PAYLOAD_TOO_LARGE');
      expect(socket.bytesWritten).to.be.below(sentBytesMax);
    });

    it(`${title} with 3 MiB in chunks of unknown number: the whole answer arrives while they are sent`, () => {
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      return refuse(`${head()}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(48)}0\r\n\r\n`);
    });

    for (const [coding, encode] of encoders) {
      it(`${title} with ${coding} that turns out to be none behind its first MiB: the service goes on`, async () => {
        const bytes = Buffer.concat([encode(Buffer.alloc(bodyBytesMax + 20_000, 'a')), Buffer.alloc(64, 0xff)]);
        const lines = `Content-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`;
        await refuse(Buffer.concat([Buffer.from(head() + lines, 'latin1'), bytes, Buffer.from('\r\n0\r\n\r\n')]));
        expectData(await http.ask({ path: '/healthz' }), 'status');
        expect(http.service.apis[0]?.hasExited(), 'the API has ended').to.equal(false);
      });
    }

    it(`${title} with 20 MB in a gzip of 20 KB`, () => {
      const bomb = gzipSync(ofBytes(20_000_000), { level: 9 });
      const lines = `Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
      expect(bomb.length).to.be.below(25_000);
      return refuse(Buffer.concat([Buffer.from(head() + lines, 'latin1'), bomb]));
    });
  }
});
