import { expect } from 'chai';
import { preferenceApplied, readPreferences } from '../../../api/rest/preferences.js';
import { cpuMsOf } from '../../support/time/cpu-time.js';

const cases: [header: string, detailed: boolean, lenient: boolean][] = [
  ['', false, false],
  ['return=representation', true, false],
  ['handling=lenient', false, true],
  ['return=representation, handling=lenient', true, true],
  ['RETURN = representation', true, false],
  ['return="representation"', true, false],
  ['return=Representation', false, false],
  ['return', false, false],
  ['return=minimal', false, false],
  ['handling=strict', false, false],
  // Of one given twice the first counts.
  ['return=minimal, return=representation', false, false],
  ['return=representation, Return=minimal', true, false],
  ['handling=strict, handling=lenient', false, false],
  // Unknown ones, parameters and what does not parse are ignored.
  ['respond-async, wait=10; x="a,b" , ,handling=lenient;y', false, true],
  ['foo="x, return=representation"', false, false],
  ['foo="\\", return=representation"', false, false],
  ['foo="\\", return=representation, bar"', false, false],
  ['((, return=representation', true, false],
  ['"return=representation"', false, false],
];

describe('a Prefer header', () => {
  for (const [header, detailed, lenient] of cases) {
    it(`${JSON.stringify(header)} means ${detailed ? 'a representation' : 'none'}, ${lenient ? 'lenient' : 'strict'}`, () => {
      expect(readPreferences(header)).to.deep.equal({ detailed, lenient });
    });
  }

  it('that was not sent means the default', () => {
    expect(readPreferences(undefined)).to.deep.equal({ detailed: false, lenient: false });
  });

  it('of many blanks, quotes and separators is read in one pass', () => {
    // Read once for each character, they would take ten seconds and more.
    for (const header of [`a${' ;  '.repeat(50_000)}!`, `a=${' '.repeat(200_000)}(`, '"'.repeat(200_000)]) {
      expect(cpuMsOf(() => readPreferences(header))).to.be.below(1_000);
    }
  });

  it('is answered with what was honoured', () => {
    expect(preferenceApplied({ detailed: true, lenient: true })).to.equal('return=representation, handling=lenient');
    expect(preferenceApplied({ detailed: false, lenient: true })).to.equal('handling=lenient');
    expect(preferenceApplied({ detailed: false, lenient: false })).to.equal(undefined);
  });
});
