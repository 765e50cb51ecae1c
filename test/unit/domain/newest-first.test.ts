import { expect } from 'chai';
import fc from 'fast-check';
import { newestFirst } from '../../../shared/domain/newest-first.js';
import type { LedgerPlace } from '../../../shared/domain/newest-first.js';

/** `2@A3` is the third entry of level A, booked at 2 by row `row` of operation `operation`. */
function place(atMs: number, levelId: string, sequence: number, operationId: string, rowIndex: number): LedgerPlace {
  return { atMs, levelId, sequence, operationId, rowIndex };
}

function shown(entries: readonly LedgerPlace[]): string {
  return entries.map(({ levelId, sequence }) => `${levelId}${sequence}`).join(' ');
}

const cases: { title: string; entries: LedgerPlace[]; order: string }[] = [
  {
    title: 'later times come first, whatever the level',
    entries: [place(1, 'A', 1, 'o1', 0), place(3, 'A', 2, 'o3', 0), place(2, 'B', 1, 'o2', 0)],
    order: 'A2 B1 A1',
  },
  {
    title: 'the rows of one operation come in the opposite of their order, across levels',
    entries: [place(1, 'A', 1, 'o', 0), place(1, 'B', 1, 'o', 1), place(1, 'A', 2, 'o', 2), place(1, 'C', 1, 'o', 3)],
    order: 'C1 A2 B1 A1',
  },
  {
    title: 'operations of one transaction come by their ids where their levels do not say otherwise',
    entries: [place(1, 'A', 1, 'o1', 0), place(1, 'B', 1, 'o2', 0), place(1, 'B', 2, 'o3', 0)],
    order: 'B2 B1 A1',
  },
  {
    title: 'a level stands by its sequence, also where operations ran in another order than that of their ids',
    entries: [place(1, 'A', 1, 'o2', 0), place(1, 'A', 2, 'o1', 0), place(1, 'A', 3, 'o3', 0)],
    order: 'A3 A2 A1',
  },
];

describe('the entries of a ledger, newest first', () => {
  for (const { title, entries, order } of cases) {
    it(title, () => {
      expect(shown(newestFirst(entries, entries.length))).to.equal(order);
      expect(shown(newestFirst(entries.toReversed(), 2))).to.equal(order.split(' ').slice(0, 2).join(' '));
    });
  }

  it('hold by time and by the sequence of every level, whatever was booked', () => {
    // Each transaction books operations in any order of their ids, with rows at any levels.
    const transactions = fc.array(
      fc.array(
        fc.record({ id: fc.nat(20), levels: fc.array(fc.constantFrom('A', 'B', 'C'), { minLength: 1, maxLength: 4 }) }),
        { minLength: 1, maxLength: 4 },
      ),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(transactions, fc.nat(20), (booked, count) => {
        const entries = ledgerOf(booked);
        const ordered = newestFirst(entries, entries.length);
        expect(ordered).to.have.members(entries);
        const next = new Map<string, LedgerPlace>();
        for (const entry of ordered) {
          const above = next.get(entry.levelId);
          if (above !== undefined) expect(entry.sequence).to.equal(above.sequence - 1);
          next.set(entry.levelId, entry);
        }
        const times = ordered.map(({ atMs }) => atMs);
        expect(times).to.deep.equal(times.toSorted((one, other) => other - one));
        expect(newestFirst(entries, count)).to.deep.equal(ordered.slice(0, count));
      }),
    );
  });

  it('look at each of them a few times, however many levels there are', () => {
    let looks = 0;
    const entries = Array.from({ length: 20_000 }, (_, index): LedgerPlace => {
      const [levelId, sequence] = [String(index % 2_000), 1 + Math.floor(index / 2_000)];
      const { atMs, ...rest } = place(1, levelId, sequence, `o${index % 77}`, index);
      return {
        ...rest,
        get atMs() {
          looks += 1;
          return atMs;
        },
      };
    });
    expect(newestFirst(entries, 20_000)).to.have.length(20_000);
    // Two sorts take some fifteen comparisons an entry each; a look at every level for each would be two thousand.
    expect(looks / entries.length).to.be.below(200);
  });
});

function ledgerOf(transactions: { id: number; levels: string[] }[][]): LedgerPlace[] {
  const sequences = new Map<string, number>();
  return transactions.flatMap((operations, transaction) =>
    operations.flatMap(({ id, levels }, position) =>
      levels.map((levelId, rowIndex) => {
        const sequence = (sequences.get(levelId) ?? 0) + 1;
        sequences.set(levelId, sequence);
        return place(transaction, levelId, sequence, `${id}.${position}`, rowIndex);
      }),
    ),
  );
}
