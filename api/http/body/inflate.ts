import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';

type Inflater = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const inflaters = { gzip: promisify(unzip), deflate: promisify(unzip), br: promisify(brotliDecompress) };

/** The content codings of a body (RFC 9110 §8.4.1) that are taken besides `identity`. */
export type Coding = keyof typeof inflaters;

export const isCoding = (name: string): name is Coding => Object.hasOwn(inflaters, name);

/** @throws what zlib says: `ERR_BUFFER_TOO_LARGE` beyond `bytesMax`, anything else where it is not in this coding */
export type Inflate = (bytes: Buffer, coding: Coding, bytesMax: number) => Promise<Buffer>;

/**
 * Inflates one body after the other. Inflating takes up to 17 MB, however small the body (26 bytes of brotli can ask
 * for that much): 32 at once took a process from 134 to 679 MB. It is done in milliseconds, and only whole bodies are
 * inflated, so that nobody holds up others by sending slowly.
 */
export function createInflate(by: Readonly<Record<Coding, Inflater>> = inflaters): Inflate {
  let last: Promise<unknown> = Promise.resolve();
  return (bytes, coding, bytesMax) => {
    const inflated = last.then(() => by[coding](bytes, { maxOutputLength: bytesMax }));
    last = inflated.catch(() => undefined);
    return inflated;
  };
}
