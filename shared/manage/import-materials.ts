import { stat } from 'node:fs/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/connect.js';
import {
  beginImport,
  facetsOfVendors,
  importBatchSize,
  importMaterials as writeMaterials,
  settleImport,
  takenIds,
} from '../database/import-materials.js';
import { violatedConstraint } from '../database/violated-constraint.js';
import { virtualMaterialId } from '../domain/material-id.js';
import { failed, type Outcome } from '../standalone/outcome.js';
import { importFields, parseImportRecord } from './parse-import-record.js';
import type { ImportShop, ParsedRecord } from './parse-import-record.js';
import { readRecords } from './read-records.js';
import type { FileFormat } from './read-records.js';

export interface ImportJob {
  shopId: number;
  shop: ImportShop;
  path: string;
  format: FileFormat;
  /** Leave bad lines out; otherwise one of them is enough for nothing to be imported. */
  skipBad: boolean;
}

export interface BadLine {
  /** From 1, as an editor counts; the head of a CSV file included. */
  line: number;
  faults: string[];
}

export interface ImportReport {
  imported: number;
  /** Rows of opening stock, each with its entry in the ledger. */
  levels: number;
  badCount: number;
  /** The first `badLinesMax` of them. */
  badLines: BadLine[];
}

export type ImportPhase = 'checking' | 'importing' | 'settling';

/** @param part 0 to 1 of the phase */
export type OnProgress = (phase: ImportPhase, part: number) => void;

const badLinesMax = 100;
/** From here on the import itself brings statistics and indexes into order; below, autovacuum is soon enough. */
const settledFrom = 10_000;

/**
 * Imports virtual materials from a file, with their opening stock through the ledger: all of it in one transaction, so
 * that what is killed half-way leaves nothing. The file is read twice, first to find every bad line before anything is
 * written: a million rows that are rolled back would have to be cleared from every index.
 *
 * An id that the shop has makes its line bad, so the same file is never imported twice where it gives ids.
 *
 * @returns a report, also where nothing was imported because of bad lines (`imported` is 0); a problem where the file
 *   cannot be read to its end, or somebody else took an id meanwhile
 */
export async function importMaterials(
  database: Database,
  job: ImportJob,
  onProgress: OnProgress,
): Promise<Outcome<ImportReport>> {
  const size = await sizeOf(job.path);
  if (!size.ok) return size;
  const part = (phase: ImportPhase) => (bytes: number) => onProgress(phase, bytes / Math.max(1, size.value));
  const checked = await check(database, job, part('checking'));
  if (!checked.ok) return checked;
  const { bad, badLines, goodCount, facets } = checked.value;
  const report = { imported: 0, levels: 0, badCount: bad.size, badLines };
  if (goodCount === 0 || (bad.size > 0 && !job.skipBad)) return { ok: true, value: report };
  try {
    await database.transaction(async (transaction) => {
      await beginImport(transaction);
      // The next batch is read while Postgres writes this one.
      let writing: Promise<void> = Promise.resolve();
      for await (const batch of batches(job, part('importing'))) {
        const good = batch.filter(({ line }) => !bad.has(line)).map((one) => goodOrThrow(one));
        await writing;
        writing = writeMaterials(transaction, job.shopId, good.map(withFacet(facets)));
        // It is awaited a batch later; a rejection before that must not end the process.
        writing.catch(() => undefined);
        report.imported += good.length;
        report.levels += good.reduce((sum, { stock }) => sum + stock.levels.length, 0);
      }
      await writing;
      if (report.imported !== goodCount) throw new ChangedFile();
    });
  } catch (error) {
    if (error instanceof ChangedFile) return failed('The file was changed while it was read; nothing was imported.');
    if (!isTakenId(error)) throw error;
    return failed('An id was taken by somebody else meanwhile; nothing was imported. Run the import again.');
  }
  if (report.imported >= settledFrom) {
    onProgress('settling', 0);
    await settleImport(database);
  }
  return { ok: true, value: report };
}

class ChangedFile extends Error {}

/** One statement writes all tables, in an order that Postgres chooses: any of their keys may be what it runs into. */
function isTakenId(error: unknown): boolean {
  return ['materials_pkey', 'stock_pkey'].includes(violatedConstraint(error) ?? '');
}

interface Checked {
  /** The lines that are not imported. */
  bad: Set<number>;
  badLines: BadLine[];
  goodCount: number;
  facets: Map<string | null, number>;
}

/** Reads the whole file, writes nothing but facets that are new, and finds all that is wrong with it. */
async function check(database: Database, job: ImportJob, onBytes: (bytes: number) => void): Promise<Outcome<Checked>> {
  const checked: Checked = { bad: new Set(), badLines: [], goodCount: 0, facets: new Map() };
  const lineOfId = new Map<string, number>();
  for await (const batch of batches(job, onBytes)) {
    const ids = batch.flatMap(({ parsed }) => (parsed.ok && parsed.record.id !== undefined ? [parsed.record.id] : []));
    const taken = ids.length === 0 ? new Set<string>() : await takenIds(database, job.shopId, ids);
    const vendors = new Set<string | null>();
    for (const { line, parsed } of batch) {
      if (!parsed.ok && parsed.isFatal === true) {
        return failed(
          `Line ${line} cannot be read, nor what comes after it; nothing was imported. ${parsed.faults[0]}`,
        );
      }
      const faults = parsed.ok ? idFaults(parsed.record.id, line, taken, lineOfId) : parsed.faults;
      if (faults.length > 0) {
        checked.bad.add(line);
        if (checked.badLines.length < badLinesMax) checked.badLines.push({ line, faults });
      } else if (parsed.ok) {
        checked.goodCount += 1;
        const vendor = parsed.record.fields.vendor ?? null;
        if (!checked.facets.has(vendor)) vendors.add(vendor);
      }
    }
    const facetIds = await facetsOfVendors(database, job.shopId, [...vendors]);
    for (const [index, vendor] of [...vendors].entries()) checked.facets.set(vendor, facetIds[index] ?? 0);
  }
  return { ok: true, value: checked };
}

function idFaults(
  id: string | undefined,
  line: number,
  taken: ReadonlySet<string>,
  lineOfId: Map<string, number>,
): string[] {
  if (id === undefined) return [];
  if (taken.has(id)) return [`id: The shop has a material ${id} already.`];
  const first = lineOfId.get(id);
  if (first !== undefined) return [`id: ${id} is that of line ${first} already.`];
  lineOfId.set(id, line);
  return [];
}

interface ParsedLine {
  line: number;
  parsed: { ok: true; record: ParsedRecord } | { ok: false; faults: string[]; isFatal?: true };
}

async function* batches(
  { path, format, shop }: ImportJob,
  onBytes: (bytes: number) => void,
): AsyncGenerator<ParsedLine[]> {
  let batch: ParsedLine[] = [];
  const cells = format === 'csv' ? 'text' : 'json';
  for await (const read of readRecords({ path, format, knownFields: importFields }, onBytes)) {
    if ('values' in read) {
      batch.push({ line: read.line, parsed: parseImportRecord(read.values, cells, shop) });
    } else {
      const { line, fault, ...more } = read;
      batch.push({ line, parsed: { ok: false, faults: [fault], ...more } });
    }
    if (batch.length < importBatchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function goodOrThrow({ parsed }: ParsedLine): ParsedRecord {
  if (!parsed.ok) throw new ChangedFile();
  return parsed.record;
}

function withFacet(facets: ReadonlyMap<string | null, number>) {
  return ({ id, fields, stock }: ParsedRecord) => {
    const facetId = facets.get(fields.vendor ?? null);
    if (facetId === undefined) throw new ChangedFile();
    // Ids that ascend: at a million rows, random ones would have each key's index read and written all over.
    const material = { id: id ?? virtualMaterialId(uuidv7()), fields, ...stock, operationId: uuidv7() };
    return { material, facetId };
  };
}

async function sizeOf(path: string): Promise<Outcome<number>> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return failed(`${path} is not a file.`);
    return { ok: true, value: found.size };
  } catch (error) {
    return failed(`The file cannot be read: ${(error as Error).message}.`);
  }
}
