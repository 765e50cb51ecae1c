import type { Command } from 'commander';
import { checkLedger, mismatchMeanings } from '../database/ledger-check.js';
import type { LedgerCheck } from '../database/ledger-check.js';
import { findShop } from '../database/shops.js';
import { failed, type Outcome } from '../standalone/outcome.js';
import { formatTable } from './format-table.js';
import { wholeNumber } from './option-parsers.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';

interface VerifyOptions {
  json?: true;
  shop?: number;
}

const progressMs = 1_000;
const exitCodeMismatch = 1;

export function addVerifyCommand(program: Command, run: RunCommand): void {
  program
    .command('verify')
    .description('Recomputes levels and totals from the ledger. Exit code 1 where anything differs.')
    .option('--shop <id>', 'only this shop', wholeNumber(1))
    .option('--json', 'one JSON document on stdout')
    .action((options: VerifyOptions) => run(options, (context) => verify(context, options)));
}

async function verify({ database, progress }: CommandContext, { shop }: VerifyOptions): Promise<Outcome<Answer>> {
  if (shop !== undefined && (await findShop(database, shop)) === undefined) return failed(`There is no shop ${shop}.`);
  let saidAt = performance.now();
  const check = await checkLedger(database, {
    ...(shop !== undefined && { shopId: shop }),
    onProgress: ({ levels, entries, materials, mismatchCount }) => {
      if (performance.now() - saidAt < progressMs) return;
      saidAt = performance.now();
      progress(`${levels} levels, ${entries} entries, ${materials} totals checked; ${mismatchCount} differ`);
    },
  });
  const exitCode = check.mismatchCount === 0 ? 0 : exitCodeMismatch;
  return { ok: true, value: { data: check, text: describe(check), exitCode } };
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
