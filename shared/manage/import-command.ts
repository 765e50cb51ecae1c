import { extname, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { listLocations } from '../database/locations.js';
import { counted } from './format-table.js';
import { importMaterials } from './import-materials.js';
import type { ImportPhase, ImportReport } from './import-materials.js';
import type { BadLine } from './judge-lines.js';
import { createProgressBar } from './progress-bar.js';
import type { FileFormat } from './read-records.js';
import { requireShop } from './require-shop.js';
import { maybeDone } from './run-command.js';
import type { CommandContext, CommandOutcome, RunCommand } from './run-command.js';
import { addShopOption } from './shop-option.js';
import type { ShopOption } from './shop-option.js';

interface ImportOptions extends ShopOption {
  skipBad?: true;
}

const formats: Readonly<Record<string, FileFormat>> = { '.csv': 'csv', '.jsonl': 'jsonl', '.ndjson': 'jsonl' };
const badLinesShown = 20;

/** @param materials the command `materials`, which `import` is added to */
export function addImportCommand(materials: Command, run: RunCommand): void {
  addShopOption(
    materials
      .command('import')
      .description(
        'Adds virtual materials from a file, with their opening stock: all of it, or, with a bad line, nothing.',
      ),
  )
    .argument('<file>', '.csv with field names in its first line, or .jsonl', importedFile)
    .option('--skip-bad', 'import the good lines and report the others')
    .addHelpText('after', help)
    .action((file: ImportedFile, options: ImportOptions) =>
      run(options, (context) => importFile(context, file, options)),
    );
}

interface ImportedFile {
  path: string;
  format: FileFormat;
}

function importedFile(text: string): ImportedFile {
  const format = formats[extname(text).toLowerCase()];
  if (format === undefined) throw new InvalidArgumentError('Must end with .csv, .jsonl or .ndjson.');
  return { path: resolve(text), format };
}

const help = `
Fields are those of the API: productName, variantName, sku, unit, unitCost, unitPrice, vendor, specifications, imageUrl,
isNonEssentialMaterial, weightValue, weightUnitId; and
  id                 VMAT-…; a new one where it is not given. One that the shop has already makes its line bad
  inventoryQuantity  opening stock at the default location (shops set --default-location), or
  levels             opening stock by location: 70001:12.5;70002:3, or {"70001":12.5,"70002":3}

All materials show at the end, with the time of the start as createdAt and updatedAt: who follows changes by updatedAt
has to read the whole list afterwards.`;

async function importFile(
  context: CommandContext,
  file: ImportedFile,
  options: ImportOptions,
): Promise<CommandOutcome> {
  const { database, terminal, progress } = context;
  const { shop: shopId, skipBad = false } = options;
  const bar = options.json === true || terminal === undefined ? undefined : createProgressBar(terminal);
  const watch = watchSignals(context, () => bar?.stop());
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const locationIds = new Set((await listLocations(database, shopId)).map(({ id }) => id));
  const task = {
    abort: watch.abort,
    shopId,
    shop: { locationIds, defaultLocationId: shop.value.defaultLocationId },
    ...file,
    skipBad,
  };
  const startedMs = performance.now();
  const onProgress = (phase: ImportPhase, part: number) => {
    watch.enter(phase);
    bar?.show(phase, part);
  };
  const outcome = await importMaterials(database, task, onProgress).finally(() => bar?.stop());
  if (!outcome.ok) return outcome;
  const { value: report } = outcome;
  if (report.unsettled !== undefined) progress(describeUnsettled(report));
  const seconds = Math.round(performance.now() - startedMs) / 1_000;
  const data = { ...report, seconds };
  if (report.badCount > 0 && !skipBad) {
    return { ok: false, problem: `Nothing was imported.\n${describeBad(report)}`, data };
  }
  const done = `${counted(report.imported, 'material')} imported, with ${counted(report.levels, 'level')}, in ${seconds} s.`;
  const text = report.badCount > 0 ? `${done}\n${describeBad(report)}` : done;
  const unread = `It was done, and must not be repeated; only this could not be shown: ${done}`;
  return { ok: true, value: { data, text, unread } };
}

interface SignalWatch {
  /** Aborted by a signal that comes once it is known what became of the import, or just before. */
  abort: AbortSignal;
  enter: (phase: ImportPhase) => void;
}

/** How long a COMMIT is waited for after a signal: less than the ten seconds after which a container is killed. */
const commitMsMax = 5_000;

/**
 * Before the commit a signal ends the process, and nothing is in. From then on all is in, or about to be. Either must
 * be said, or the file is thought to be in, or is imported again. A commit that does not come to its end, as while a
 * standby is missing, is not waited for: then nobody knows.
 */
function watchSignals({ holdSignals, endBy }: CommandContext, clearTerminal: () => void): SignalWatch {
  const abort = new AbortController();
  let phase: ImportPhase = 'importing';
  const end = (name: NodeJS.Signals, what: string) => {
    clearTerminal();
    endBy(name, what);
  };
  holdSignals((name) => {
    if (phase === 'importing') return end(name, `Nothing was imported: ${name} came before the commit.`);
    const isFirst = !abort.signal.aborted;
    abort.abort(name);
    if (phase !== 'committing' || !isFirst) return;
    const endIfOpen = () => {
      if (phase === 'committing') end(name, `${name} came while the import was being committed: ${maybeDone}`);
    };
    setTimeout(endIfOpen, commitMsMax).unref();
  });
  return { abort: abort.signal, enter: (next) => void (phase = next) };
}

function describeUnsettled({ imported, unsettled = '' }: ImportReport): string {
  const state = imported > 0 ? 'All of it is in, but' : 'What was written is taken back, and';
  return `${state} the statistics were not refreshed: ${unsettled}. Until autovacuum does it, lists and searches may be slower.`;
}

function describeBad({ badCount, badLines }: ImportReport): string {
  const shown = badLines
    .slice(0, badLinesShown)
    .map(({ line, faults }: BadLine) => `  line ${line}: ${faults.join(' ')}`);
  const rest = badCount - shown.length;
  const head = badCount === 1 ? 'One line is bad:' : `${badCount} lines are bad:`;
  return [head, ...shown, ...(rest > 0 ? [`  and ${rest} more`] : [])].join('\n');
}
