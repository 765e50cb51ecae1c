import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

/** Some whole lines of a file. */
export interface Block {
  /** The number of its first line, from 1. */
  firstLine: number;
  bytes: Buffer;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** What ends a line. `lf`: a line feed, alone or after a carriage return; `any`: also a carriage return alone. */
export type LineEnds = 'lf' | 'any';

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** A file could be read up to this line, and no further. */
export class UnreadableFile extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Reads a file in blocks of whole lines, without a byte order mark at its start. A line may have `lineBytesMax` bytes,
 * or one chunk more if its end is in the chunk that goes beyond.
 *
 * @param onBytes told how much has been read so far
 * @throws UnreadableFile at a line that is longer, or where the system cannot read on
 */
export async function* readBlocks(
  path: string,
  { lineBytesMax, lineEnds }: { lineBytesMax: number; lineEnds: LineEnds },
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
    const end = endOfLines(bytes, lineEnds);
    rest = bytes.subarray(end);
    if (end > 0) {
      const block = bytes.subarray(0, end);
      yield { firstLine, bytes: block };
      firstLine += countLineEnds(block, lineEnds);
    }
    if (rest.length > lineBytesMax)
      throw new UnreadableFile(firstLine, `The line has more than ${lineBytesMax} bytes.`);
  }
  if (rest.length > 0) yield { firstLine, bytes: rest };
}

/** The place after the last whole line. A carriage return at the very end may be the first half of a CRLF. */
function endOfLines(bytes: Buffer, lineEnds: LineEnds): number {
  const end = bytes.lastIndexOf(lineFeed) + 1;
  return lineEnds === 'lf' ? end : Math.max(end, bytes.lastIndexOf(carriageReturn, -2) + 1);
}

async function* readChunks(
  path: string,
  lineNow: () => number,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: 262_144 });
  // To tell an error of the file from one that onBytes throws.
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
export function* linesOf({ firstLine, bytes }: Block, lineEnds: LineEnds): Generator<{ line: number; bytes: Buffer }> {
  let line = firstLine;
  let start = 0;
  for (const end of lineEndsIn(bytes, lineEnds)) {
    yield { line, bytes: bytes.subarray(start, end > start && bytes[end - 1] === carriageReturn ? end - 1 : end) };
    start = end + 1;
    line += 1;
  }
  if (start < bytes.length) yield { line, bytes: bytes.subarray(start) };
}

/** @throws UnreadableFile at the first line that is not UTF-8 */
export function assertUtf8(block: Block, lineEnds: LineEnds): void {
  if (isUtf8(block.bytes)) return;
  for (const { line, bytes } of linesOf(block, lineEnds)) {
    if (!isUtf8(bytes)) throw new UnreadableFile(line, notUtf8);
  }
}

export const notUtf8 = 'The line is not UTF-8.';

function countLineEnds(bytes: Buffer, lineEnds: LineEnds): number {
  let count = 0;
  for (const _ of lineEndsIn(bytes, lineEnds)) count += 1;
  return count;
}

/** Where each line ends: the place of its line feed, or of a carriage return that no line feed follows. */
function* lineEndsIn(bytes: Buffer, lineEnds: LineEnds): Generator<number> {
  let feed = bytes.indexOf(lineFeed);
  let bare = lineEnds === 'lf' ? -1 : bareReturn(bytes, 0);
  while (feed >= 0 || bare >= 0) {
    if (bare < 0 || (feed >= 0 && feed < bare)) {
      yield feed;
      feed = bytes.indexOf(lineFeed, feed + 1);
    } else {
      yield bare;
      bare = bareReturn(bytes, bare + 1);
    }
  }
}

function bareReturn(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(carriageReturn, from);
  while (at >= 0 && bytes[at + 1] === lineFeed) at = bytes.indexOf(carriageReturn, at + 1);
  return at;
}
