import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { findJsonFault } from '../contract/json-fault.js';
import { isJsonObject } from '../contract/json-object.js';
import { shownName } from './format-table.js';
import { assertUtf8, linesOf, notUtf8, readBlocks, UnreadableFile } from './read-blocks.js';

/** What an import file says about one material, or why it says nothing. */
export type ImportRecord =
  | { line: number; values: Record<string, unknown> }
  /** If `isFatal`, the records after it cannot be told apart. */
  | { line: number; fault: string; isFatal?: true };

export type FileFormat = 'csv' | 'jsonl';

/** The longest record, in bytes; one with all of its fields at their longest takes 60 KB. */
const recordBytesMax = 1_048_576;

/**
 * Reads a file of any length record by record: CSV lines under a head of field names, where an empty cell is a field
 * not given, or one JSON object a line. Lines are counted from 1, the head included; a record of several lines has the
 * number of its first. A byte order mark, line ends of any kind (in JSONL not a carriage return alone), also mixed, and
 * blank lines are fine; so are CSV lines of nothing but commas, which spreadsheets leave behind.
 *
 * @param knownFields what a head may name; anything else is most likely misspelt
 * @param onBytes told how much has been read so far
 */
export async function* readRecords(
  { path, format, knownFields }: { path: string; format: FileFormat; knownFields: readonly string[] },
  onBytes: (bytes: number) => void,
): AsyncGenerator<ImportRecord> {
  try {
    yield* format === 'csv' ? readCsv(path, knownFields, onBytes) : readJsonLines(path, onBytes);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    yield { line: error.line, fault: error.message, isFatal: true };
  }
}

async function* readJsonLines(path: string, onBytes: (bytes: number) => void): AsyncGenerator<ImportRecord> {
  for await (const block of readBlocks(path, { lineBytesMax: recordBytesMax, lineEnds: 'lf' }, onBytes)) {
    for (const { line, bytes } of linesOf(block, 'lf')) {
      const text = bytes.toString('utf8');
      if (text.trim() === '') continue;
      yield isUtf8(bytes) ? readJson(line, text) : { line, fault: notUtf8 };
    }
  }
}

function readJson(line: number, text: string): ImportRecord {
  try {
    const values: unknown = JSON.parse(text);
    if (!isJsonObject(values)) return { line, fault: 'The line is not a JSON object.' };
    const fault = findJsonFault(text);
    if (fault === undefined) return { line, values };
    // The path is empty if it is the whole line that is at fault.
    return { line, fault: fault.path === '' ? fault.message : `${shownName(fault.path.slice(1))}: ${fault.message}` };
  } catch {
    return { line, fault: 'The line is not valid JSON.' };
  }
}

interface CsvRecord {
  /** The first of its lines. */
  line: number;
  cells: string[];
}

/** The parser's codes for a quote left open: at the end of the file, or at the largest size of a record. */
const endless: ReadonlySet<string> = new Set(['CSV_QUOTE_NOT_CLOSED', 'CSV_MAX_RECORD_SIZE']);

/** The parser's own words for these name its options. */
const misquoted: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'After a quote that closes a cell there is something other than a comma or the end of the line. Within such a cell, double each quote.',
  INVALID_OPENING_QUOTE:
    'A cell that does not begin with a quote has one in it. Put the cell in quotes, and double each quote within it.',
};

async function* readCsv(
  path: string,
  knownFields: readonly string[],
  onBytes: (bytes: number) => void,
): AsyncGenerator<ImportRecord> {
  // The parser tells the line that a record ends on, and counts a CRLF within quotes as two lines.
  let countedTwice = 0;
  let lastEnd = 0;
  const parser = parse({
    // By default it takes the first line's ending for the whole file, and any other ending becomes part of a cell.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: recordBytesMax,
    on_record: (cells: string[], { lines }) => {
      const line = lines - countedTwice - countIn(cells, /[\r\n]/g);
      countedTwice += countIn(cells, /\r\n/g);
      lastEnd = lines - countedTwice;
      // Its types say that a record stays an array of cells, but the parser passes on whatever it is given.
      return { line, cells } satisfies CsvRecord as never;
    },
  });
  const source = Readable.from(checkedBytes(path, onBytes), { objectMode: false });
  // What the source throws ends the parser, and comes out of the loop below.
  source.once('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let columns: string[] | undefined;
  try {
    for await (const { line, cells } of parser as AsyncIterable<CsvRecord>) {
      if (cells.every((cell) => cell.trim() === '')) continue;
      if (columns === undefined) columns = readHead(line, cells, knownFields);
      else yield toRecord(line, columns, cells);
    }
    if (columns === undefined) throw new UnreadableFile(1, 'The file is empty: its first line is the head.');
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    if (endless.has(error.code)) {
      throw new UnreadableFile(lastEnd + 1, 'A record begins here that does not end: is a quote not closed?');
    }
    // The line number in its own message would contradict ours.
    const fault = misquoted[error.code] ?? `${error.message.replace(/ at line \d+/, '')}.`;
    throw new UnreadableFile(Number(error['lines']) - countedTwice, fault);
  } finally {
    source.destroy();
  }
}

async function* checkedBytes(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const block of readBlocks(path, { lineBytesMax: recordBytesMax, lineEnds: 'any' }, onBytes)) {
    assertUtf8(block, 'any');
    yield block.bytes;
  }
}

function readHead(line: number, cells: readonly string[], knownFields: readonly string[]): string[] {
  const columns = cells.map((cell) => cell.trim());
  const nameless = columns.indexOf('') + 1;
  if (nameless > 0)
    throw new UnreadableFile(line, `The head has no name for column ${nameless}: is there a comma too many?`);
  const unknown = columns.filter((name) => !knownFields.includes(name));
  if (unknown.length > 0) {
    const known = `known are ${knownFields.join(', ')}`;
    if (columns.length === 1 && /[;\t]/.test(columns[0] ?? '')) {
      throw new UnreadableFile(line, 'The head has no comma: cells are separated by commas.');
    }
    const names = unknown.map(shownName).join(', ');
    throw new UnreadableFile(line, `The head has columns that are not known: ${names}; ${known}.`);
  }
  const twice = columns.find((name, index) => columns.indexOf(name) < index);
  if (twice !== undefined) throw new UnreadableFile(line, `The head names the column ${twice} twice.`);
  return columns;
}

function countIn(cells: readonly string[], pattern: RegExp): number {
  return cells.reduce((count, cell) => count + (cell.match(pattern)?.length ?? 0), 0);
}

function toRecord(line: number, columns: readonly string[], cells: readonly string[]): ImportRecord {
  if (cells.length !== columns.length) {
    return { line, fault: `The line has ${cells.length} cells, and the head ${columns.length}.` };
  }
  const values: Record<string, unknown> = {};
  for (const [index, name] of columns.entries()) {
    const cell = cells[index] ?? '';
    if (cell !== '') values[name] = cell;
  }
  return { line, values };
}
