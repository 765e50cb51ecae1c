import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { adjustLevel, rowForTotal, unknownLocation } from '../../../shared/domain/adjustment.js';
import type { AdjustmentRow } from '../../../shared/domain/adjustment.js';
import { levelMaxMicros, toMicros } from '../../../shared/domain/quantity.js';
import { counting } from '../../support/long-run/counting.js';
import { createDice } from '../../support/dice.js';
import { sizeOf } from '../../support/long-run/long-run.js';

const unit = 1_000_000;
const boundUnits = levelMaxMicros / unit;
const rowsAtOnceMax = 200_000;
const seedBound = 2 ** 31;

interface Case {
  title: string;
  row: { delta?: number; absolute?: number; expected?: number };
  /** In units; the total is the level unless it says otherwise. */
  level: number;
  total?: number;
  allowNegative?: boolean;
  becomes: { level: number; clamped?: boolean } | { code: string };
}

const cases: Case[] = [
  { title: 'a delta is added', level: 10, row: { delta: 2.5 }, becomes: { level: 12.5 } },
  { title: 'a negative delta is taken off', level: 10, row: { delta: -4 }, becomes: { level: 6 } },
  {
    title: 'a delta down to zero is not clamped',
    level: 10,
    row: { delta: -10 },
    becomes: { level: 0, clamped: false },
  },
  {
    title: 'a delta past zero is truncated and still ok',
    level: 10,
    row: { delta: -11 },
    becomes: { level: 0, clamped: true },
  },
  {
    title: 'a negative delta on an empty level changes nothing',
    level: 0,
    row: { delta: -1 },
    becomes: { level: 0, clamped: true },
  },
  {
    title: 'a negative delta never raises a level below zero',
    level: -3,
    row: { delta: -1 },
    becomes: { level: -3, clamped: true },
  },
  {
    title: 'a positive delta raises a level below zero by itself',
    level: -3,
    row: { delta: 1 },
    becomes: { level: -2 },
  },
  {
    title: 'a delta past zero is whole where negative is allowed',
    level: 10,
    row: { delta: -11 },
    allowNegative: true,
    becomes: { level: -1 },
  },
  {
    title: 'a delta below zero is whole where negative is allowed',
    level: -1,
    row: { delta: -1 },
    allowNegative: true,
    becomes: { level: -2 },
  },
  { title: 'a delta of zero is ok', level: 10, row: { delta: 0 }, becomes: { level: 10, clamped: false } },
  { title: 'an absolute sets the level', level: 10, row: { absolute: 3 }, becomes: { level: 3 } },
  { title: 'an absolute that equals the level is ok', level: 10, row: { absolute: 10 }, becomes: { level: 10 } },
  { title: 'an absolute lifts a level out of the negative', level: -5, row: { absolute: 0 }, becomes: { level: 0 } },
  { title: 'an absolute is never clamped', level: 10, row: { absolute: 0 }, becomes: { level: 0, clamped: false } },
  {
    title: 'a level may reach its upper bound',
    level: boundUnits - 1,
    row: { delta: 1 },
    becomes: { level: boundUnits },
  },
  {
    title: 'a level may not pass its upper bound',
    level: boundUnits,
    row: { delta: 0.000001 },
    becomes: { code: 'INVALID_INPUT' },
  },
  {
    title: 'a level may reach its lower bound',
    level: 1 - boundUnits,
    row: { delta: -1 },
    allowNegative: true,
    becomes: { level: -boundUnits },
  },
  {
    title: 'a level may not pass its lower bound',
    level: -boundUnits,
    row: { delta: -0.000001 },
    allowNegative: true,
    becomes: { code: 'INVALID_INPUT' },
  },
  { title: 'a total may reach its bound', level: 0, total: boundUnits - 1, row: { delta: 1 }, becomes: { level: 1 } },
  {
    title: 'a total may not pass its bound',
    level: 0,
    total: boundUnits,
    row: { delta: 1 },
    becomes: { code: 'INVALID_INPUT' },
  },
  {
    title: 'a total may not pass its lower bound',
    level: 0,
    total: -boundUnits,
    row: { delta: -1 },
    allowNegative: true,
    becomes: { code: 'INVALID_INPUT' },
  },
  {
    title: 'an expected level that holds lets the row through',
    level: 10,
    row: { delta: 1, expected: 10 },
    becomes: { level: 11 },
  },
  {
    title: 'an expected level that does not hold is a conflict',
    level: 10,
    row: { delta: 1, expected: 9 },
    becomes: { code: 'CONFLICT' },
  },
  {
    title: 'an expected level is checked before the bounds',
    level: boundUnits,
    row: { delta: 1, expected: 1 },
    becomes: { code: 'CONFLICT' },
  },
];

describe('an adjustment', () => {
  for (const { title, row, level, total = level, allowNegative = false, becomes } of cases) {
    it(title, () => {
      const outcome = adjustLevel(inMicros(row), { level: toMicros(level), total: toMicros(total), allowNegative });
      if ('code' in becomes) {
        expect(outcome).to.include({ ok: false, code: becomes.code });
        return;
      }
      expect(outcome).to.include({ ok: true, previous: toMicros(level), level: toMicros(becomes.level) });
      expect(outcome).to.include({ applied: toMicros(becomes.level) - toMicros(level) });
      if (becomes.clamped !== undefined) expect(outcome).to.include({ clamped: becomes.clamped });
    });
  }

  it('says in its message what the level is and was expected to be, and where the bounds are', () => {
    const before = { level: 10 * unit, total: 10 * unit, allowNegative: false };
    const conflict = adjustLevel({ locationId: 'a', delta: 1, expected: 9_500_000 }, before);
    expect(conflict).to.have.property('message', 'The level is 10, not the expected 9.5.');
    const full = { ...before, level: levelMaxMicros };
    expect(adjustLevel({ locationId: 'a', delta: 1 }, full)).to.have.property(
      'message',
      'The level would leave its bounds of ±8000000000.',
    );
    const fullTotal = { ...before, total: levelMaxMicros };
    expect(adjustLevel({ locationId: 'a', delta: 1 }, fullTotal)).to.have.property(
      'message',
      "The material's total would leave its bounds of ±8000000000.",
    );
    expect(unknownLocation('x')).to.deep.equal({
      ok: false,
      code: 'NOT_FOUND',
      message: 'The shop has no location x.',
    });
  });

  it('T1: agrees with an independent oracle of the rules, for any level, total and row', async () => {
    const quantity = fc.oneof(
      fc.integer({ min: -20, max: 20 }),
      fc.integer({ min: -levelMaxMicros, max: levelMaxMicros }),
      fc.constantFrom(levelMaxMicros, -levelMaxMicros, 0),
    );
    const input = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -1e15, max: 1e15 }));
    const rule = fc.property(
      quantity,
      quantity,
      input,
      fc.boolean(),
      fc.boolean(),
      (level, total, value, isDelta, allowNegative) => {
        const row: AdjustmentRow = isDelta
          ? { locationId: 'a', delta: value }
          : { locationId: 'a', absolute: Math.abs(value) };
        const outcome = adjustLevel(row, { level, total, allowNegative });
        const wanted = oracle(row, BigInt(level), BigInt(total), allowNegative);
        const agrees =
          wanted === undefined
            ? !outcome.ok
            : outcome.ok && outcome.level === Number(wanted) && outcome.applied === Number(wanted) - level;
        // Not by chai: of the 10 s of CPU that this file took, 8 went into its agreeing with 200,000 rows.
        if (!agrees) throw new Error(`${JSON.stringify(outcome)}, where the oracle has ${wanted ?? 'a refusal'}`);
      },
    );
    const dice = createDice('T1');
    const size = sizeOf({ small: 200_000, long: 10_000_000 });
    await counting({ test: 'T1', unit: 'rows', size }, async (count) => {
      while (count.left() > 0) {
        const rows = Math.min(rowsAtOnceMax, count.left());
        fc.assert(rule, { numRuns: rows, seed: dice.below(seedBound) });
        count.add(rows);
        count.judged();
        // Otherwise a long run would not hear that it shall end.
        await setImmediate();
      }
      return [];
    });
  });
});

describe('a written total', () => {
  const cases: [title: string, target: number, total: number, level: number, absolute: number | undefined][] = [
    ['goes to the default location whole where nothing else holds stock', 10, 4, 4, 10],
    ['leaves the other levels as they are', 10, 7, 3, 6],
    ['may empty the default location', 4, 7, 3, 0],
    ['is refused where the others hold more', 3, 7, 3, undefined],
    ['makes up for others below zero', 3, -2, 0, 5],
    ['is refused where the default location would pass its bound', 1, 1 - boundUnits, 0.5, undefined],
    ['may bring the default location to its bound', 0.5, 0.5 - boundUnits, 0, boundUnits],
  ];
  for (const [title, target, total, level, absolute] of cases) {
    it(title, () => {
      const defaultLocation = { id: 'home', level: toMicros(level) };
      const wanted = rowForTotal({ target: toMicros(target), total: toMicros(total), defaultLocation });
      if (absolute === undefined) expect(wanted).to.have.property('ok', false);
      else expect(wanted).to.deep.equal({ ok: true, row: { locationId: 'home', absolute: toMicros(absolute) } });
    });
  }

  it('is refused without a default location, and says why', () => {
    expect(rowForTotal({ target: 1, total: 0, defaultLocation: undefined })).to.deep.equal({
      ok: false,
      message: 'The shop has no default location to book a total at.',
    });
    const written = { target: toMicros(1), defaultLocation: { id: 'home', level: 0 } };
    expect(rowForTotal({ ...written, total: toMicros(3) })).to.deep.equal({
      ok: false,
      message: 'The other locations already hold 3, more than the wanted total.',
    });
    expect(rowForTotal({ ...written, total: -levelMaxMicros })).to.deep.equal({
      ok: false,
      message: 'The default location would hold more than 8000000000.',
    });
  });
});

function inMicros({ delta, absolute, expected }: Case['row']): AdjustmentRow {
  return {
    locationId: 'a',
    ...(delta === undefined ? {} : { delta: toMicros(delta) }),
    ...(absolute === undefined ? {} : { absolute: toMicros(absolute) }),
    ...(expected === undefined ? {} : { expected: toMicros(expected) }),
  };
}

/** The rules of contract §3.5 once more, in whole numbers of any size; undefined where the row must fail. */
function oracle(row: AdjustmentRow, level: bigint, total: bigint, allowNegative: boolean): bigint | undefined {
  let after: bigint;
  if (row.absolute !== undefined) after = BigInt(row.absolute);
  else {
    after = level + BigInt(row.delta ?? 0);
    const floor = level < 0n ? level : 0n;
    if (!allowNegative && (row.delta ?? 0) < 0 && after < floor) after = floor;
  }
  const bound = BigInt(levelMaxMicros);
  const inBounds = (value: bigint) => value <= bound && value >= -bound;
  return inBounds(after) && inBounds(total + after - level) ? after : undefined;
}
