import { expect } from 'chai';
import { unescapeUnreserved } from '../../../api/http/request-path.js';

/** RFC 3986 §2.3. */
const unreserved = /[a-z\d._~-]/i;

describe('the path of a request', () => {
  it('is the same with a letter, a digit, -, ., _ or ~ escaped; every other escape stays', () => {
    for (let code = 0x20; code < 0x7f; code += 1) {
      const [character, hex] = [String.fromCharCode(code), code.toString(16)];
      for (const escape of [`%${hex}`, `%${hex.toUpperCase()}`]) {
        const plain = unreserved.test(character) ? `/a${character}` : `/a${escape}`;
        expect(unescapeUnreserved(`/a${escape}`), character).to.equal(plain);
      }
    }
  });

  it('stays as it is where it cannot be decoded, of which an escape could be made', () => {
    for (const path of ['/%%34%31', '/%41%ff', '/%4']) expect(unescapeUnreserved(path)).to.equal(path);
  });
});
