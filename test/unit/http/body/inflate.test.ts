import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { createInflate } from '../../../../api/http/body/inflate.js';

const text = '{"updates":[]}';
const bytesMax = 1_000;

describe('what inflates a body', () => {
  it('takes gzip, deflate and brotli, and says which is larger than it may be', async () => {
    const inflate = createInflate();
    const bombs = {
      gzip: gzipSync(Buffer.alloc(100_000)),
      deflate: deflateSync(Buffer.alloc(100_000)),
      br: brotliCompressSync(Buffer.alloc(17_000_000), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } }),
    };
    const good = { gzip: gzipSync(text), deflate: deflateSync(text), br: brotliCompressSync(text) };
    for (const coding of ['gzip', 'deflate', 'br'] as const) {
      const refused = inflate(bombs[coding], coding, bytesMax).catch((error: unknown) => error);
      expect(String(await inflate(good[coding], coding, bytesMax)), coding).to.equal(text);
      expect(await refused, coding).to.have.property('code', 'ERR_BUFFER_TOO_LARGE');
    }
  });

  const whole = { gzip: gzipSync(text), deflate: deflateSync(text), br: brotliCompressSync(text) };
  for (const coding of ['gzip', 'deflate', 'br'] as const) {
    it(`fails for what is no ${coding}, is cut short, or goes on after its end, and does the next`, async () => {
      const inflate = createInflate();
      const bytes = whole[coding];
      const bad = [
        Buffer.from('none'),
        bytes.subarray(0, -1),
        ...['x', 'JUNK', '\0\0'].map((more) => Buffer.concat([bytes, Buffer.from(more)])),
      ];
      for (const each of bad) {
        const fault: unknown = await inflate(each, coding, bytesMax).catch((error: unknown) => error);
        expect(fault, String(each)).to.be.an('error');
      }
      expect(String(await inflate(bytes, coding, bytesMax))).to.equal(text);
    });
  }

  it('does one after the other, whatever comes of each', async () => {
    const ends: ((error?: Error) => void)[] = [];
    const inflater = (bytes: Buffer) =>
      new Promise<{ buffer: Buffer; engine: { bytesWritten: number } }>((resolve, reject) =>
        ends.push((error) => {
          if (error === undefined) resolve({ buffer: bytes, engine: { bytesWritten: bytes.length } });
          else reject(error);
        }),
      );
    const inflate = createInflate({ gzip: inflater, deflate: inflater, br: inflater });
    const all = Promise.allSettled([1, 2, 3].map((byte) => inflate(Buffer.of(byte), 'br', bytesMax)));
    for (let begun = 1; begun <= 3; begun += 1) {
      await turn();
      expect(ends).to.have.length(begun);
      ends[begun - 1]?.(begun === 2 ? new Error('no brotli') : undefined);
    }
    expect((await all).map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
  });
});
