import { expect } from 'chai';
import { isTaken, jsonType, mergePatchType } from '../../../../api/http/body/content-type.js';

const cases: [contentType: string | undefined, taken: boolean][] = [
  ['application/json', true],
  ['Application/JSON', true],
  ['application/json; charset=utf-8', true],
  ['application/json;charset="UTF-8"', true],
  ['application/json; profile=x', true],
  ['application/merge-patch+json', true],
  ['application/json; charset=latin1', false],
  ['application/json; charset=utf-16', false],
  ['application/jsonx', false],
  ['text/plain', false],
  ['', false],
  [undefined, false],
];

describe('the content type of a body', () => {
  for (const [contentType, taken] of cases) {
    it(`${String(contentType)} is ${taken ? 'taken' : 'not taken'}`, () => {
      expect(isTaken(contentType, [jsonType, mergePatchType])).to.equal(taken);
    });
  }

  it('is taken only where the route takes it', () => {
    expect(isTaken(mergePatchType, [jsonType])).to.equal(false);
  });
});
