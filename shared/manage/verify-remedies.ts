import type { LedgerMismatch } from '../database/ledger-mismatch.js';
import type { ListMismatch } from '../database/list-check.js';

/** What an operator can do about a difference; the statements stand in README.md beside this. */
type Remedy = 'from-ledger' | 'from-back-up' | 'lists';

type Found = Pick<LedgerMismatch | ListMismatch, 'kind' | 'expected' | 'found'>;

function remedyOf({ kind, expected, found }: Found): Remedy {
  switch (kind) {
    case 'last-sequence':
      // A level that is ahead of its ledger is not wrong: its last entries are missing.
      return Number(found) > Number(expected) ? 'from-back-up' : 'from-ledger';
    case 'level-not-sum':
    case 'total-not-sum':
    case 'stock-missing':
      return 'from-ledger';
    case 'sequence-gap':
    case 'broken-chain':
    case 'level-missing':
    case 'material-missing':
      return 'from-back-up';
    case 'wrong-facet':
    case 'wrong-count':
      return 'lists';
  }
}

/** In the order in which they are to be done: a level follows from its ledger, and its total from the level. */
const remedies: Record<Remedy, string> = {
  'from-back-up':
    'Materials, levels and entries of the ledger that are missing, or entries that were changed, follow from nothing ' +
    'else: they have to come from a back-up. Until then all goes on with the levels as they are.',
  'from-ledger':
    'The first statements there set a level whose ledger is whole by its ledger, and a total by its levels, and add ' +
    'stock that is missing. ' +
    'An adjustment does not mend them: it goes on from what is wrong.',
  lists: 'What lists go by follows from the materials: the second statements there set it anew.',
};

/** A line for each thing to be done about these. */
export function describeRemedies(mismatches: readonly Found[]): string {
  const found = new Set(mismatches.map(remedyOf));
  const wanted = Object.entries(remedies).filter(([remedy]) => found.has(remedy as Remedy));
  const head = 'What to do (shared/manage/README.md, "Mending what verify finds"):';
  return [head, ...wanted.map(([, text]) => `- ${text}`)].join('\n');
}
