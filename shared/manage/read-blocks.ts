import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

/** Whole lines of a file, as they lie in it. */
export interface Block {
  /** The number of its first line, from 1. */
  firstLine: number;
  bytes: Buffer;
}

const lineEnd = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** Where a file cannot be read on, with the line; everything before it was read. */
export class UnreadableFile extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Reads a file in blocks of whole lines, without a byte order mark at its start.
 *
 * @param lineBytesMax what a line may have
 * @param onBytes told how much has been read so far
 * @throws UnreadableFile at a line that is longer, or where the system cannot read on
 */
export async function* readBlocks(
  path: string,
  lineBytesMax: number,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Block> {
  let rest: Buffer = Buffer.alloc(0);
  let firstLine = 1;
  let isFirst = true;
  for await (const chunk of readChunks(path, () => firstLine, onBytes)) {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (isFirst && bytes.length >= byteOrderMark.length) {
      isFirst = false;
      if (bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)) bytes = bytes.subarray(byteOrderMark.length);
    }
    const end = bytes.lastIndexOf(lineEnd) + 1;
    rest = bytes.subarray(end);
    if (end > 0) {
      const block = bytes.subarray(0, end);
      yield { firstLine, bytes: block };
      firstLine += countLineEnds(block);
    }
    if (rest.length > lineBytesMax)
      throw new UnreadableFile(firstLine, `The line has more than ${lineBytesMax} bytes.`);
  }
  if (rest.length > 0) yield { firstLine, bytes: rest };
}

async function* readChunks(
  path: string,
  lineNow: () => number,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: 262_144 });
  // What onBytes throws is not the file's.
  let fault: Error | undefined;
  file.once('error', (error) => (fault = error));
  try {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      onBytes(file.bytesRead);
      yield chunk;
    }
  } catch (error) {
    if (error !== fault) throw error;
    throw new UnreadableFile(lineNow(), `${(error as Error).message}.`);
  }
}

/** The lines of a block with their numbers, without what ends them. */
export function* linesOf({ firstLine, bytes }: Block): Generator<{ line: number; bytes: Buffer }> {
  let line = firstLine;
  for (let start = 0; start < bytes.length; line += 1) {
    const found = bytes.indexOf(lineEnd, start);
    const end = found < 0 ? bytes.length : found;
    yield { line, bytes: bytes.subarray(start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end) };
    start = end + 1;
  }
}

/** @throws UnreadableFile at the first line that is not UTF-8 */
export function assertUtf8(block: Block): void {
  if (isUtf8(block.bytes)) return;
  for (const { line, bytes } of linesOf(block)) {
    if (!isUtf8(bytes)) throw new UnreadableFile(line, notUtf8);
  }
}

export const notUtf8 = 'The line is not UTF-8.';

function countLineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, at + 1)) count += 1;
  return count;
}
