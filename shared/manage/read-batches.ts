import { importBatchSize, importLevelsMax, importTextMax } from '../database/insert-materials-with-stock.js';
import { importFields, parseImportRecord } from './parse-import-record.js';
import type { ImportShop, ParsedRecord } from './parse-import-record.js';
import { readRecords } from './read-records.js';
import type { FileFormat } from './read-records.js';

export interface ImportFile {
  path: string;
  format: FileFormat;
  /** What the rules of a line have to know of the shop. */
  shop: ImportShop;
}

export interface ParsedLine {
  line: number;
  parsed: { ok: true; record: ParsedRecord } | { ok: false; faults: string[]; isFatal?: true };
}

/** The lines of a file, each parsed by itself, in batches of as many as one statement writes. */
export async function* readBatches(
  { path, format, shop }: ImportFile,
  onBytes: (bytes: number) => void,
): AsyncGenerator<ParsedLine[]> {
  let batch: ParsedLine[] = [];
  let [levels, text] = [0, 0];
  for await (const read of readRecords({ path, format, knownFields: importFields }, onBytes)) {
    if ('values' in read) {
      const parsed = parseImportRecord(read.values, format, shop);
      batch.push({ line: read.line, parsed });
      if (parsed.ok) {
        levels += parsed.record.stock.levels.length;
        text += textOf(parsed.record);
      }
    } else {
      const { line, fault, ...more } = read;
      batch.push({ line, parsed: { ok: false, faults: [fault], ...more } });
    }
    if (batch.length < importBatchSize && levels < importLevelsMax && text < importTextMax) continue;
    yield batch;
    batch = [];
    [levels, text] = [0, 0];
  }
  if (batch.length > 0) yield batch;
}

/** In characters. */
function textOf({ fields }: ParsedRecord): number {
  return Object.values(fields).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}
