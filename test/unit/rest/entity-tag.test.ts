import { expect } from 'chai';
import { entityTag, explainChangedTag, readIfMatch } from '../../../api/rest/entity-tag.js';
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

/** What a proxy that compresses makes of ours, and lists that have none of these. */
const changed: [header: string, tag: string | undefined][] = [
  ['W/"3"', 'W/"3"'],
  ['"7", W/"3"', 'W/"3"'],
  ['"3-gzip"', '"3-gzip"'],
  ['W/"3--br"', 'W/"3--br"'],
  ['"3"', undefined],
  ['"3", "4"', undefined],
  ['*', undefined],
  ['W/"abc"', undefined],
  ['"3-"', undefined],
  ['W/"3', undefined],
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

  for (const [header, tag] of changed) {
    it(`${header} ${tag === undefined ? 'has no tag' : `has ${tag}, a tag`} of ours that a proxy has changed`, () => {
      const told = `${tag} never matches: the tag was "3", and a proxy that compresses may have changed it.`;
      expect(explainChangedTag(header)).to.equal(tag === undefined ? undefined : told);
    });
  }

  it('of many blanks is read in one pass', () => {
    for (const header of [`${' '.repeat(blanks)}x`, `"1"${' '.repeat(blanks)}x`]) {
      expect(cpuMsOf(() => readIfMatch(header))).to.be.below(1_000);
    }
  });
});
