import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';

describe('the validator', () => {
  for (const name of ['toString', 'constructor', 'hasOwnProperty', '__proto__']) {
    it(`a required ${name} is not found on the prototype of an object`, () => {
      const isValid = ajv.compile({ type: 'object', required: [name] });
      expect(isValid({})).to.equal(false);
      expect(isValid(Object.fromEntries([[name, 1]]))).to.equal(true);
    });
  }
});
