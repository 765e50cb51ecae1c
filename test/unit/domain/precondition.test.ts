import { expect } from 'chai';
import { failedPrecondition } from '../../../shared/domain/precondition.js';

const cases: { title: string; ifVersions: number[] | undefined; holds: boolean }[] = [
  { title: 'none is always met', ifVersions: undefined, holds: true },
  { title: 'the version there is meets it', ifVersions: [3], holds: true },
  { title: 'any of several meets it', ifVersions: [1, 3, 7], holds: true },
  { title: 'an older version fails it', ifVersions: [2], holds: false },
  { title: 'a version still to come fails it', ifVersions: [4], holds: false },
  { title: 'a list without a version of ours fails it', ifVersions: [], holds: false },
];

describe('the precondition of a field update, at version 3', () => {
  for (const { title, ifVersions, holds } of cases) {
    it(title, () => {
      const failure = failedPrecondition(3, ifVersions);
      if (holds) expect(failure).to.equal(undefined);
      else expect(failure).to.contain('"3"');
    });
  }
});
