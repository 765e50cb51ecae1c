import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';

/** What zlib resolves with under its option `info`, of which its types do not know. */
interface Inflated {
  buffer: Buffer;
  /** Its `bytesWritten` is how many of the bytes it has read. */
  engine: { bytesWritten: number };
}

type Inflater = (bytes: Buffer, options: { maxOutputLength: number; info: true }) => Promise<Inflated>;

const inflaters = {
  gzip: promisify(unzip) as unknown as Inflater,
  deflate: promisify(unzip) as unknown as Inflater,
  br: promisify(brotliDecompress) as unknown as Inflater,
};

/** The content codings of a body (RFC 9110 §8.4.1) that are taken besides `identity`. */
export type Coding = keyof typeof inflaters;

export const isCoding = (name: string): name is Coding => Object.hasOwn(inflaters, name);

/**
 * @throws what zlib says: `ERR_BUFFER_TOO_LARGE` beyond `bytesMax`, anything else where it is not in this coding, to its
 *   end
 */
export type Inflate = (bytes: Buffer, coding: Coding, bytesMax: number) => Promise<Buffer>;

/**
 * Inflates one body after the other. Inflating takes up to 17 MB, however small the body (26 bytes of brotli can ask
 * for that much): 32 at once took a process from 134 to 679 MB. It is done in milliseconds, and only whole bodies are
 * inflated, so that nobody holds up others by sending slowly.
 */
export function createInflate(by: Readonly<Record<Coding, Inflater>> = inflaters): Inflate {
  let last: Promise<unknown> = Promise.resolve();
  return (bytes, coding, bytesMax) => {
    const inflated = last.then(() => inflateWhole(by[coding], bytes, bytesMax));
    last = inflated.catch(() => undefined);
    return inflated;
  };
}

async function inflateWhole(inflater: Inflater, bytes: Buffer, bytesMax: number): Promise<Buffer> {
  const { buffer, engine } = await inflater(bytes, { maxOutputLength: bytesMax, info: true });
  // Zlib stops at the end of what it can read. A proxy that looks at bodies may see something else in what follows.
  if (engine.bytesWritten < bytes.length) throw new Error('there are bytes after its end');
  return buffer;
}
