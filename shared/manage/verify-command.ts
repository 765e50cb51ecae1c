import type { Command } from 'commander';
import type { Database } from '../database/connect.js';
import { checkLedger } from '../database/ledger-check.js';
import type { LedgerCheck, LedgerCheckProgress } from '../database/ledger-check.js';
import { mismatchMeanings } from '../database/ledger-mismatch.js';
import type { LedgerMismatch } from '../database/ledger-mismatch.js';
import { checkLists, listMismatchMeanings } from '../database/list-check.js';
import type { ListMismatch } from '../database/list-check.js';
import { exitCodes } from '../runtime/exit-codes.js';
import type { Outcome } from '../runtime/outcome.js';
import { counted, formatTable } from './format-table.js';
import { onceASecond } from './once-a-second.js';
import { wholeNumber } from './option-parsers.js';
import { createProgressBar } from './progress-bar.js';
import { requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';
import { addJsonOption } from './shop-option.js';
import { describeRemedies } from './verify-remedies.js';

interface VerifyOptions {
  json?: true;
  shop?: number;
}

export function addVerifyCommand(program: Command, run: RunCommand): void {
  addJsonOption(
    program
      .command('verify')
      .description(
        'Recomputes levels and totals from the ledger, and what lists go by from the materials. Exit code 1 where ' +
          'anything differs or there is no such shop, 69 where the database cannot be asked.',
      )
      .option('--shop <id>', 'only this shop', wholeNumber(1)),
  ).action((options: VerifyOptions) => run(options, (context) => verify(context, options)));
}

/** Lists a bounded number of mismatches and reads small batches, so its memory does not grow with the data. */
async function verify(context: CommandContext, { shop, json }: VerifyOptions): Promise<Outcome<Answer>> {
  const { database } = context;
  if (shop !== undefined) {
    const found = await requireShop(database, shop);
    if (!found.ok) return found;
  }
  const watch = json === true ? undefined : watchProgress(context);
  const check = await checkAll(database, shop, watch?.show).finally(() => watch?.stop());
  const exitCode = check.mismatchCount === 0 ? 0 : exitCodes.failed;
  return { ok: true, value: { data: check, text: describe(check), exitCode } };
}

interface Check extends Omit<LedgerCheck, 'mismatches'> {
  mismatches: (LedgerMismatch | ListMismatch)[];
}

/** @param part 0 to 1 of what is being checked */
type Show = (line: () => string, part: number) => void;

async function checkAll(database: Database, shopId: number | undefined, show: Show | undefined): Promise<Check> {
  const ofShop = shopId === undefined ? {} : { shopId };
  const onLedger = ({ levels, entries, materials, mismatchCount }: LedgerCheckProgress, part: number) =>
    show?.(() => `${levels} levels, ${entries} entries, ${materials} totals checked; ${mismatchCount} differ`, part);
  const ledger = await checkLedger(database, { ...ofShop, ...(show && { onProgress: onLedger }) });
  const onLists = (materials: number) =>
    show?.(() => `${materials} materials compared with what lists go by`, materials / Math.max(1, ledger.materials));
  const lists = await checkLists(database, { ...ofShop, onProgress: onLists });
  return {
    ...ledger,
    mismatchCount: ledger.mismatchCount + lists.mismatchCount,
    mismatches: [...ledger.mismatches, ...lists.mismatches],
  };
}

const meanings = { ...mismatchMeanings, ...listMismatchMeanings };

interface Watch {
  show: Show;
  stop: () => void;
}

/** A bar on a terminal; elsewhere, as in a log, a line a second. */
function watchProgress({ terminal, progress }: CommandContext): Watch {
  if (terminal !== undefined) {
    const bar = createProgressBar(terminal);
    return { show: (line, part) => bar.show(line(), Math.min(1, part)), stop: bar.stop };
  }
  const say = onceASecond(progress);
  return { show: say, stop: () => undefined };
}

function describe(check: Check): string {
  const { levels, entries, materials, mismatchCount, mismatches } = check;
  const what = `${counted(levels, 'level')}, ${entries} ledger ${entries === 1 ? 'entry' : 'entries'}`;
  const checked = `${what} and ${counted(materials, 'total')} checked, and what lists go by.`;
  if (mismatchCount === 0) return `${checked} All agree.`;
  const head = ['shop', 'material', 'location', 'what', 'expected', 'found'];
  const rows = mismatches.map((one) => [
    one.shopId,
    one.materialId ?? (one.levelId === null ? null : `level ${one.levelId}`),
    one.locationId,
    meanings[one.kind],
    one.expected,
    one.found,
  ]);
  const shown = mismatches.length < mismatchCount ? ` The first ${mismatches.length}:` : '';
  const found = `${counted(mismatchCount, 'difference')}.${shown}\n\n${formatTable(head, rows)}`;
  return `${checked} ${found}\n\n${describeRemedies(mismatches)}`;
}
