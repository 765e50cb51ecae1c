import { access, constants, stat } from 'node:fs/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/connect.js';
import { decidedTransaction } from '../database/decided-transaction.js';
import { reasonOf } from '../database/errors.js';
import {
  beginImport,
  facetsOfVendors,
  importBatchSize,
  importLevelsMax,
  importParameters,
  insertMaterialsWithStock,
  settleImport,
  takenIds,
} from '../database/import-materials.js';
import { violatedConstraint } from '../database/violated-constraint.js';
import { virtualMaterialId } from '../domain/material-id.js';
import { failed, type Outcome } from '../runtime/outcome.js';
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
  /** Ends the settling, which is after the commit. */
  abort?: AbortSignal;
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
  /** Why statistics and indexes could not be brought into order afterwards; what was imported is in all the same. */
  unsettled?: string;
}

export type ImportPhase = 'importing' | 'committing' | 'settling';

/** @param part 0 to 1 of the phase */
export type OnProgress = (phase: ImportPhase, part: number) => void;

const badLinesMax = 10_000;
/** From here on the import itself brings statistics and indexes into order, also after it was taken back. */
const settledFrom = 10_000;

/**
 * Imports virtual materials from a file, with their opening stock through the ledger: all of it in one transaction, so
 * that what is killed half-way leaves nothing. Lines are written while others are read; from a bad line on, without
 * `skipBad`, the rest is only checked, and what was written is taken back.
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
  const run: Run = {
    report: { imported: 0, levels: 0, badCount: 0, badLines: [] },
    facets: new Map(),
    lineOfId: new Map(),
  };
  const outcome = await writeAll(database, job, run, (phase, bytes) =>
    onProgress(phase, bytes / Math.max(1, size.value)),
  );
  if (run.report.imported < settledFrom) return outcome;
  onProgress('settling', 1);
  const unsettled = await settle(database, job.abort);
  if (unsettled === undefined || !outcome.ok) return outcome;
  return { ok: true, value: { ...outcome.value, unsettled } };
}

/** Why it failed, if it did: the import has been decided before it, and whoever is told "failed" imports all of it again. */
async function settle(database: Database, abort: AbortSignal | undefined): Promise<string | undefined> {
  try {
    await settleImport(database, abort);
    return undefined;
  } catch (error) {
    return abort?.aborted === true ? String(abort.reason) : reasonOf(error);
  }
}

interface Run {
  report: ImportReport;
  /** By vendor. */
  facets: Map<string | null, number>;
  lineOfId: Map<string, number>;
}

async function writeAll(
  database: Database,
  job: ImportJob,
  run: Run,
  onBytes: (phase: ImportPhase, bytes: number) => void,
): Promise<Outcome<ImportReport>> {
  const { report } = run;
  let readBytes = 0;
  const onRead = (bytes: number) => onBytes('importing', (readBytes = bytes));
  try {
    await decidedTransaction(database, (transaction) => writeLines({ database, transaction }, job, run, onRead), {
      onCommit: () => onBytes('committing', readBytes),
    });
    return { ok: true, value: report };
  } catch (error) {
    if (error instanceof TakenBack) return error.outcome;
    if (!isTakenId(error)) throw error;
    return failed('An id was taken by somebody else meanwhile; nothing was imported. Run the import again.');
  }
}

/** Ends the transaction without its changes. */
class TakenBack extends Error {
  constructor(readonly outcome: Outcome<ImportReport>) {
    super('the import is taken back');
  }
}

/** @throws TakenBack where nothing is to be imported */
async function writeLines(
  { database, transaction }: { database: Database; transaction: Database },
  job: ImportJob,
  run: Run,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { report } = run;
  // The next batch is read, and judged on another connection, while Postgres writes this one.
  let writing = quietly(beginImport(transaction));
  for await (const batch of batches(job, onBytes)) {
    const good = await judge(database, job, run, batch);
    const isWritten = good.ok && (report.badCount === 0 || job.skipBad);
    const parameters = isWritten ? importParameters(job.shopId, 'import', good.value) : undefined;
    await writing;
    if (!good.ok) throw new TakenBack(good);
    if (parameters === undefined) continue;
    writing = quietly(insertMaterialsWithStock(transaction, parameters));
    report.imported += good.value.length;
    report.levels += good.value.reduce((sum, { material }) => sum + material.levels.length, 0);
  }
  await writing;
  if (report.badCount > 0 && !job.skipBad) {
    throw new TakenBack({ ok: true, value: { ...report, imported: 0, levels: 0 } });
  }
}

/** It is awaited a batch later; a rejection before that must not end the process. */
function quietly(writing: Promise<void>): Promise<void> {
  writing.catch(() => undefined);
  return writing;
}

/** One statement writes all tables, in an order that Postgres chooses: any of their keys may be what it runs into. */
function isTakenId(error: unknown): boolean {
  // An id that another import has just written is all that one ever waits for, so in a deadlock both took the other's.
  if ((error as { code?: string }).code === deadlock) return true;
  return ['materials_pkey', 'stock_pkey', 'levels_pkey'].includes(violatedConstraint(error) ?? '');
}

/** SQLSTATE. */
const deadlock = '40P01';

type GoodMaterial = Parameters<typeof importParameters>[2][number];

/** The good of a batch; its bad lines go into the report. A problem where the file cannot be read on. */
async function judge(
  database: Database,
  job: ImportJob,
  run: Run,
  batch: ParsedLine[],
): Promise<Outcome<GoodMaterial[]>> {
  const { report } = run;
  const ids = batch.flatMap(({ parsed }) => (parsed.ok && parsed.record.id !== undefined ? [parsed.record.id] : []));
  const taken = ids.length === 0 ? new Set<string>() : await takenIds(database, job.shopId, ids);
  const good: ParsedRecord[] = [];
  for (const { line, parsed } of batch) {
    if (!parsed.ok && parsed.isFatal === true) {
      return failed(`Line ${line} cannot be read, nor what comes after it; nothing was imported. ${parsed.faults[0]}`);
    }
    const faults = parsed.ok ? idFaults(parsed.record.id, line, taken, run.lineOfId) : parsed.faults;
    if (parsed.ok && faults.length === 0) {
      good.push(parsed.record);
    } else {
      report.badCount += 1;
      if (report.badLines.length < badLinesMax) report.badLines.push({ line, faults });
    }
  }
  await findFacets(database, job.shopId, run.facets, good);
  return {
    ok: true,
    value: good.map((record) => ({ material: toMaterial(record), facetId: facetOf(run.facets, record) })),
  };
}

async function findFacets(
  database: Database,
  shopId: number,
  facets: Map<string | null, number>,
  records: readonly ParsedRecord[],
): Promise<void> {
  const vendors = new Set(records.map(({ fields }) => fields.vendor ?? null));
  const fresh = [...vendors].filter((vendor) => !facets.has(vendor));
  if (fresh.length === 0) return;
  const ids = await facetsOfVendors(database, shopId, fresh);
  for (const [index, id] of ids.entries()) facets.set(fresh[index] ?? null, id);
}

function facetOf(facets: ReadonlyMap<string | null, number>, { fields }: ParsedRecord): number {
  const id = facets.get(fields.vendor ?? null);
  if (id === undefined) throw new Error('a vendor without a facet');
  return id;
}

function toMaterial({ id, fields, stock }: ParsedRecord): GoodMaterial['material'] {
  // Ids that ascend, for the same reason as those of their operations.
  return { id: id ?? virtualMaterialId(uuidv7()), fields, ...stock };
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
  let levels = 0;
  const cells = format === 'csv' ? 'text' : 'json';
  for await (const read of readRecords({ path, format, knownFields: importFields }, onBytes)) {
    if ('values' in read) {
      const parsed = parseImportRecord(read.values, cells, shop);
      batch.push({ line: read.line, parsed });
      if (parsed.ok) levels += parsed.record.stock.levels.length;
    } else {
      const { line, fault, ...more } = read;
      batch.push({ line, parsed: { ok: false, faults: [fault], ...more } });
    }
    if (batch.length < importBatchSize && levels < importLevelsMax) continue;
    yield batch;
    batch = [];
    levels = 0;
  }
  if (batch.length > 0) yield batch;
}

async function sizeOf(path: string): Promise<Outcome<number>> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return failed(`${path} is not a file.`);
    await access(path, constants.R_OK);
    return { ok: true, value: found.size };
  } catch (error) {
    return failed(`The file cannot be read: ${(error as Error).message}.`);
  }
}
