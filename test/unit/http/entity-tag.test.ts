import { expect } from 'chai';
import { entityTag, readIfMatch } from '../../../api/rest/entity-tag.js';

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
    const startedAtMs = performance.now();
    readIfMatch(`${' '.repeat(16_000)}x`);
    readIfMatch(`"1"${' '.repeat(16_000)}x`);
    expect(performance.now() - startedAtMs).to.be.below(100);
  });
});
