import { expect } from 'chai';
import fc from 'fast-check';
import { fromDecimal, levelMaxMicros, toDecimal, toMicros, toUnits } from '../../../shared/domain/quantity.js';

describe('a quantity', () => {
  const cases: [units: number, micros: number][] = [
    [0, 0],
    [1, 1_000_000],
    [-2.5, -2_500_000],
    [4.35, 4_350_000],
    [0.1 + 0.2, 300_000],
    [0.0000004, 0],
    [0.0000005, 1],
    [-0.0000005, -1],
    [-0.0000004, 0],
    [1.0000005, 1_000_001],
    [1.0000004999, 1_000_000],
    [5e-7, 1],
    [4.9e-7, 0],
    [1e-10, 0],
    [9.999999e-1, 1_000_000],
    [0.9999995, 1_000_000],
    [999_999_999.999999, 999_999_999_999_999],
    [1e9, 1e15],
    [8e9, 8e15],
  ];
  for (const [units, micros] of cases) {
    it(`${units} is ${micros} millionths, rounded half away from zero`, () => {
      expect(toMicros(units)).to.equal(micros);
    });
  }

  it('knows no negative zero', () => {
    for (const units of [-0, -0.0000001, -1e-9]) expect(Object.is(toMicros(units), 0), String(units)).to.equal(true);
    expect(Object.is(fromDecimal('-0.000000'), 0)).to.equal(true);
  });

  it('refuses what is no quantity as a fault of the caller', () => {
    for (const units of [NaN, Infinity, -Infinity, 1e21, 9.1e9]) {
      expect(() => toMicros(units), String(units)).to.throw(RangeError);
    }
    for (const decimal of ['1', '1.5', '', '1e6', '99999999999.000000']) {
      expect(() => fromDecimal(decimal), decimal).to.throw(RangeError);
    }
  });

  it('says in that fault what it was given', () => {
    expect(() => toMicros(NaN)).to.throw('not a quantity: NaN');
    expect(() => toMicros(9.1e9)).to.throw('quantity out of range: 9100000000');
    expect(() => fromDecimal('1.5')).to.throw('not a decimal with six places: 1.5');
  });

  it('is written for Postgres with six places and the sign of what is below zero', () => {
    for (const [micros, decimal] of [
      [0, '0.000000'],
      [-1, '-0.000001'],
      [-1_500_000, '-1.500000'],
      [12_000_000, '12.000000'],
    ] as const) {
      expect(toDecimal(micros)).to.equal(decimal);
    }
  });

  const anyMicros = fc.integer({ min: -levelMaxMicros, max: levelMaxMicros });

  it('survives the way through JSON and back, up to 8e9 units', () => {
    fc.assert(
      fc.property(anyMicros, (micros) => {
        const units = JSON.parse(JSON.stringify(toUnits(micros))) as number;
        expect(toMicros(units)).to.equal(micros);
      }),
      { numRuns: 20_000 },
    );
  });

  it('survives the way through Postgres text and back', () => {
    fc.assert(
      fc.property(anyMicros, (micros) => {
        expect(toDecimal(micros)).to.match(/^-?\d+\.\d{6}$/);
        expect(fromDecimal(toDecimal(micros))).to.equal(micros);
      }),
    );
  });

  it('is rounded as an exact decimal of its shortest form would be', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (units) => {
        expect(toMicros(units)).to.equal(oracle(units));
      }),
      { numRuns: 20_000 },
    );
  });
});

/** The same rule in whole numbers of any size, by way of another route: BigInt powers of ten. */
function oracle(units: number): number {
  const [mantissa = '', exponent = '0'] = units.toExponential().split('e');
  const digits = mantissa.replace(/[-.]/g, '');
  const scale = Number(exponent) - (digits.length - 1) + 6;
  const whole = BigInt(digits);
  const power = 10n ** BigInt(Math.abs(scale));
  const micros = scale >= 0 ? whole * power : (2n * whole + power) / (2n * power);
  return Number(units < 0 ? -micros : micros) + 0;
}
