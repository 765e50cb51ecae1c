import type { LedgerMismatch } from '../database/ledger-mismatch.js';
import type { ListMismatch } from '../database/list-check.js';

/** What an operator can do about a difference; the statements stand in README.md beside this. */
type Remedy = 'from-ledger' | 'from-back-up' | 'lists' | 'written';

type Found = Pick<LedgerMismatch | ListMismatch, 'kind' | 'levelId' | 'expected' | 'found'>;

/** @param hasGap whether the entries of its level are not numbered without a gap */
function remedyOf({ kind, expected, found }: Found, hasGap: boolean): Remedy {
  switch (kind) {
    case 'last-sequence':
      // A level that is ahead of its ledger is not wrong: its last entries are missing.
      return Number(found) > Number(expected) ? 'from-back-up' : 'from-ledger';
    case 'level-not-sum':
    case 'total-not-sum':
    case 'stock-missing':
      return 'from-ledger';
    case 'broken-chain':
      // Where all are there, it was mostly the level that somebody wrote, and no entry.
      return hasGap ? 'from-back-up' : 'written';
    case 'sequence-gap':
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
  written:
    'Where an entry does not start from what the one before it left, and none is missing, somebody wrote the level by ' +
    'plain SQL, and adjustments went on from there. The third statements there book what was written; then come the ' +
    'first. A back-up helps only if entries themselves were changed: those have to come from it.',
  'from-ledger':
    'The first statements there set a level whose ledger is whole by its ledger, and a total by its levels, and add ' +
    'stock that is missing. ' +
    'An adjustment does not mend them: it goes on from what is wrong.',
  lists: 'What lists go by follows from the materials: the second statements there set it anew.',
};

/** A line for each thing to be done about these. */
export function describeRemedies(mismatches: readonly Found[]): string {
  const levelsWith = (kind: Found['kind']) =>
    new Set(mismatches.filter((one) => one.kind === kind).map(({ levelId }) => levelId));
  const gaps = levelsWith('sequence-gap');
  const found = new Set(mismatches.map((one) => remedyOf(one, gaps.has(one.levelId))));
  const wanted = Object.entries(remedies).filter(([remedy]) => found.has(remedy as Remedy));
  const head = 'What to do (shared/manage/README.md, "Mending what verify finds"):';
  return [head, ...wanted.map(([, text]) => `- ${text}`)].join('\n');
}
