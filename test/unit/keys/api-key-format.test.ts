import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { mintKey, parseKey } from '../../../shared/keys/api-key-format.js';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('the format of API keys', () => {
  it('has the prefix, 12 characters of id, 32 of secret and 6 of checksum', () => {
    const { key, id } = mintKey();
    expect(key).to.match(/^rmk_[0-9A-Za-z]{50}$/);
    expect(key.slice(4, 16)).to.equal(id);
  });

  it('is read back as the id and the SHA-256 of the secret that were minted', () => {
    const { key, id, secretHash } = mintKey();
    expect(parseKey(key)).to.deep.equal({ id, secretHash });
    expect(secretHash).to.deep.equal(createHash('sha256').update(key.slice(16, 48)).digest());
  });

  it('carries the CRC-32 of what precedes it: a key worked out by other means is read', () => {
    // crc32("rmk_" + "0" × 44) = 0x7234df3e by Python's zlib.
    const body = `rmk_${'0'.repeat(44)}`;
    expect(parseKey(`${body}25fcis`)).to.have.property('id', '0'.repeat(12));
  });

  it('refuses every change of one character, as any typo is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 53 }), fc.constantFrom(...alphabet.split('')), (place, character) => {
        const { key } = mintKey();
        fc.pre(key.charAt(place) !== character);
        return parseKey(key.slice(0, place) + character + key.slice(place + 1)) === undefined;
      }),
    );
  });

  const { key } = mintKey();
  const malformed: [string, string][] = [
    ['empty', ''],
    ['one character short', key.slice(0, -1)],
    ['one character long', `${key}0`],
    ['a line end behind it', `${key}\n`],
    ['a blank before it', ` ${key}`],
    ['another prefix', `rmx_${key.slice(4)}`],
    ['a character outside base 62', `${key.slice(0, 20)}-${key.slice(21)}`],
    ['two keys', key + key],
  ];
  for (const [name, text] of malformed) {
    it(`refuses a text that is not a key: ${name}`, () => {
      expect(parseKey(text)).to.equal(undefined);
    });
  }

  it('draws every character of the alphabet equally often, and no key twice', () => {
    const draws = 2_000;
    const counts = new Map<string, number>();
    const ids = new Set<string>();
    for (let draw = 0; draw < draws; draw += 1) {
      const { key: drawn, id } = mintKey();
      ids.add(id);
      for (const character of drawn.slice(4, 48)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(ids.size).to.equal(draws);
    const wanted = (draws * 44) / alphabet.length;
    // A byte modulo 62 would draw eight characters a quarter more often. Chance strays by 2.6 %, ten times less.
    for (const character of alphabet) {
      expect(counts.get(character), character).to.be.within(wanted * 0.86, wanted * 1.14);
    }
  });
});
