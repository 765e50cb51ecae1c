import { access, constants, stat } from 'node:fs/promises';
import { lockAbsence } from '../database/absence.js';
import type { Database } from '../database/connect.js';
import { isDeadlock, violatedConstraint } from '../database/errors.js';
import { beginImport, insertMaterialsWithStock, insertParameters } from '../database/insert-materials-with-stock.js';
import { settledTransaction } from '../database/settled-transaction.js';
import { makeMissingStatistics, refreshStatistics, sortInSearchIndex } from '../database/statistics.js';
import { reasonOf } from '../domain/reason-of.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { createJudge } from './judge-lines.js';
import type { BadLines } from './judge-lines.js';
import { readBatches } from './read-batches.js';
import type { ImportFile } from './read-batches.js';

export interface ImportTask extends ImportFile {
  shopId: number;
  /** Leave bad lines out; otherwise a single one means that nothing is imported. */
  skipBad: boolean;
  /** Ends what is done after the commit, for the statistics and the search index. */
  abort?: AbortSignal;
}

export interface ImportReport extends BadLines {
  imported: number;
  /** Rows of opening stock, each with its entry in the ledger. */
  levels: number;
  /** Why the statistics could not be refreshed afterwards; what was imported is in all the same. */
  unsettled?: string;
}

export type ImportPhase = 'importing' | 'committing' | 'settling';

/** @param part 0 to 1 of the phase */
export type OnProgress = (phase: ImportPhase, part: number) => void;

/** From this many on, the import itself refreshes the statistics, even if it was taken back. */
const refreshedFrom = 10_000;

/**
 * Imports virtual materials from a file, with their opening stock and its ledger: all in one transaction, so that an
 * import that is killed half-way leaves nothing. Lines are read while others are written. Without `skipBad`, what
 * follows a bad line is only checked, and everything is rolled back.
 *
 * A line is bad if the shop already has its id, so a file with ids is never imported twice.
 *
 * @returns a report, also if nothing was imported because of bad lines (`imported` is 0); a problem if the file cannot
 *   be read to its end, or somebody else took an id meanwhile
 */
export async function importMaterials(
  database: Database,
  task: ImportTask,
  onProgress: OnProgress,
): Promise<Outcome<ImportReport>> {
  const size = await sizeOf(task.path);
  if (!size.ok) return size;
  const report: ImportReport = { imported: 0, levels: 0, badCount: 0, badLines: [] };
  const outcome = await writeAll(database, task, report, (phase, bytes) =>
    onProgress(phase, bytes / Math.max(1, size.value)),
  );
  const unsettled = await seeToStatistics(database, task, report.imported, onProgress);
  if (unsettled === undefined || !outcome.ok) return outcome;
  return { ok: true, value: { ...outcome.value, unsettled } };
}

/**
 * Never throws, but returns why it failed: by now the import is committed or rolled back, and a failed command would be
 * repeated.
 *
 * @param written how many materials were written, also if they were rolled back
 */
async function seeToStatistics(
  database: Database,
  { abort }: ImportTask,
  written: number,
  onProgress: OnProgress,
): Promise<string | undefined> {
  // Also where there is nothing to do: by now it is known what became of the import.
  onProgress('settling', 1);
  try {
    if (written >= refreshedFrom) {
      await refreshStatistics(database, abort);
    } else if (written > 0) {
      await makeMissingStatistics(database, written, abort);
      await sortInSearchIndex(database, abort);
    }
    return undefined;
  } catch (error) {
    return abort?.aborted === true ? String(abort.reason) : reasonOf(error);
  }
}

async function writeAll(
  database: Database,
  task: ImportTask,
  report: ImportReport,
  onBytes: (phase: ImportPhase, bytes: number) => void,
): Promise<Outcome<ImportReport>> {
  let readBytes = 0;
  const onRead = (bytes: number) => onBytes('importing', (readBytes = bytes));
  try {
    await settledTransaction(database, (transaction) => writeLines({ database, transaction }, task, report, onRead), {
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

/**
 * @param report counts what was written
 * @throws TakenBack where nothing is to be imported
 */
async function writeLines(
  { database, transaction }: { database: Database; transaction: Database },
  task: ImportTask,
  report: ImportReport,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const judge = createJudge(database, task.shopId, report);
  // The next batch is read, and judged on another connection, while Postgres writes this one.
  let writing = quietly(beginImport(transaction));
  for await (const batch of readBatches(task, onBytes)) {
    const good = await judge(batch);
    const isWritten = good.ok && (report.badCount === 0 || task.skipBad);
    const parameters = isWritten ? insertParameters(task.shopId, 'import', good.value) : undefined;
    await writing;
    if (!good.ok) throw new TakenBack(good);
    if (parameters === undefined) continue;
    writing = quietly(insertMaterialsWithStock(transaction, parameters));
    report.imported += good.value.length;
    report.levels += good.value.reduce((sum, { material }) => sum + material.levels.length, 0);
  }
  await writing;
  if (report.badCount > 0 && !task.skipBad) {
    throw new TakenBack({ ok: true, value: { ...report, imported: 0, levels: 0 } });
  }
  await lockAbsence(transaction);
}

/** The promise is awaited a batch later. If it rejects before that, the process must not end. */
function quietly(writing: Promise<void>): Promise<void> {
  writing.catch(() => undefined);
  return writing;
}

/** One statement writes all tables, in an order that Postgres chooses, so the id may be taken in any of them first. */
function isTakenId(error: unknown): boolean {
  // An import waits only for an id that another one has just written: in a deadlock each wants an id of the other.
  if (isDeadlock(error)) return true;
  return ['materials_pkey', 'stock_pkey', 'levels_pkey'].includes(violatedConstraint(error) ?? '');
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
