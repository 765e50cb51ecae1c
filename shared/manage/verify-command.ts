import type { Command } from 'commander';
import { checkLedger } from '../database/ledger-check.js';
import type { LedgerCheck, LedgerCheckProgress } from '../database/ledger-check.js';
import { mismatchMeanings } from '../database/ledger-mismatch.js';
import type { Outcome } from '../runtime/outcome.js';
import { formatTable } from './format-table.js';
import { onceASecond } from './once-a-second.js';
import { wholeNumber } from './option-parsers.js';
import { createProgressBar } from './progress-bar.js';
import { requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';

interface VerifyOptions {
  json?: true;
  shop?: number;
}

const exitCodeMismatch = 1;

export function addVerifyCommand(program: Command, run: RunCommand): void {
  program
    .command('verify')
    .description(
      'Recomputes levels and totals from the ledger. Exit code 1 where anything differs, 69 where it cannot be told.',
    )
    .option('--shop <id>', 'only this shop', wholeNumber(1))
    .option('--json', 'one JSON document on stdout')
    .action((options: VerifyOptions) => run(options, (context) => verify(context, options)));
}

/** Its mismatches are bounded and its batches small, so it takes as much memory for a million levels as for ten. */
async function verify(context: CommandContext, { shop, json }: VerifyOptions): Promise<Outcome<Answer>> {
  const { database } = context;
  if (shop !== undefined) {
    const found = await requireShop(database, shop);
    if (!found.ok) return found;
  }
  const watch = json === true ? undefined : watchProgress(context);
  const check = await checkLedger(database, {
    ...(shop !== undefined && { shopId: shop }),
    ...(watch !== undefined && { onProgress: watch.onProgress }),
  }).finally(() => watch?.stop());
  const exitCode = check.mismatchCount === 0 ? 0 : exitCodeMismatch;
  return { ok: true, value: { data: check, text: describe(check), exitCode } };
}

interface Watch {
  onProgress: (progress: LedgerCheckProgress, part: number) => void;
  stop: () => void;
}

/** A bar on a terminal; elsewhere, as in a log, a line a second. */
function watchProgress({ terminal, progress }: CommandContext): Watch {
  const line = ({ levels, entries, materials, mismatchCount }: LedgerCheckProgress) =>
    `${levels} levels, ${entries} entries, ${materials} totals checked; ${mismatchCount} differ`;
  if (terminal !== undefined) {
    const bar = createProgressBar(terminal);
    return { onProgress: (done, part) => bar.show(line(done), part), stop: bar.stop };
  }
  const say = onceASecond(progress);
  return { onProgress: (done) => say(() => line(done)), stop: () => undefined };
}

function describe(check: LedgerCheck): string {
  const { levels, entries, materials, mismatchCount, mismatches } = check;
  const checked = `${levels} levels, ${entries} ledger entries and ${materials} totals checked.`;
  if (mismatchCount === 0) return `${checked} All agree.`;
  const head = ['shop', 'material', 'location', 'what', 'expected', 'found'];
  const rows = mismatches.map((one) => [
    one.shopId,
    one.materialId ?? `level ${String(one.levelId)}`,
    one.locationId,
    mismatchMeanings[one.kind],
    one.expected,
    one.found,
  ]);
  const shown = mismatches.length < mismatchCount ? ` The first ${mismatches.length}:` : '';
  return `${checked} ${mismatchCount} differences.${shown}\n\n${formatTable(head, rows)}`;
}
