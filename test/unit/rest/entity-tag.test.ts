import { expect } from 'chai';
import { entityTag, readIfMatch } from '../../../api/rest/entity-tag.js';
import { cpuMsOf } from '../../support/time/cpu-time.js';

const lists: [header: string, versions: number[] | undefined][] = [
  ['*', undefined],
  [' * ', undefined],
  ['"3"', [3]],
  ['"1", "2" ,"3"', [1, 2, 3]],
  [',"3",, ', [3]],
  // Strong comparison: a weak tag matches nothing.
  ['W/"3"', []],
  ['W/"3", "4"', [4]],
  // Tags that this service never gives.
  ['"abc"', []],
  ['"03"', []],
  ['"0"', []],
  ['""', []],
  ['"3,4"', []],
  ['"99999999999999999999"', []],
  ['"é"', []],
];

const noLists = ['', ',', '3', '"3', '3"', '"3" "4"', '*, "3"', 'w/"3"', '"a b"', '"a"b', '"3"; x'];

/** Read once for each of them, they would take ten seconds and more. */
const blanks = 200_000;

describe('If-Match', () => {
  for (const [header, versions] of lists) {
    it(`${header} takes ${versions === undefined ? 'any version' : `the versions [${versions.join(', ')}]`}`, () => {
      expect(readIfMatch(header)).to.deep.equal({ ok: true, data: versions });
    });
  }

  for (const header of noLists) {
    it(`${JSON.stringify(header)} is INVALID_INPUT and names the header`, () => {
      const read = readIfMatch(header);
      expect(read.ok ? undefined : read.error.details?.[0]?.path).to.equal('If-Match');
    });
  }

  it('that was not sent takes any version', () => {
    expect(readIfMatch(undefined)).to.deep.equal({ ok: true, data: undefined });
  });

  it('takes what ETag gave', () => {
    expect(readIfMatch(entityTag(12))).to.deep.equal({ ok: true, data: [12] });
  });

  it('of many blanks is read in one pass', () => {
    for (const header of [`${' '.repeat(blanks)}x`, `"1"${' '.repeat(blanks)}x`]) {
      expect(cpuMsOf(() => readIfMatch(header))).to.be.below(1_000);
    }
  });
});
