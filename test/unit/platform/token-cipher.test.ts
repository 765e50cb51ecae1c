import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { createTokenCipher, tokenKeyProblem } from '../../../shared/platform/token-cipher.js';

const key = randomBytes(32).toString('hex');
const token = 'token-of-the-shop';

describe('the cipher for platform tokens', () => {
  it('a sealed token opens for its shop, whatever it holds', () => {
    const cipher = createTokenCipher(key);
    for (const text of [token, '', 'tökén ☃', 'x'.repeat(10_000)]) {
      expect(cipher.open(cipher.seal(text, 7), 7)).to.equal(text);
    }
  });

  it('the key may be written in hexadecimal or in base64', () => {
    const bytes = randomBytes(32);
    const sealed = createTokenCipher(bytes.toString('hex')).seal(token, 7);
    expect(createTokenCipher(bytes.toString('base64')).open(sealed, 7)).to.equal(token);
  });

  it('no two sealings are alike and none shows the token', () => {
    const cipher = createTokenCipher(key);
    const sealed = Array.from({ length: 100 }, () => cipher.seal(token, 7));
    expect(new Set(sealed.map((bytes) => bytes.toString('hex'))).size).to.equal(100);
    for (const bytes of sealed) expect(bytes.includes(token)).to.equal(false);
  });

  it("another shop's sealed token does not open", () => {
    const cipher = createTokenCipher(key);
    expect(cipher.open(cipher.seal(token, 7), 8)).to.equal(undefined);
  });

  it('another key does not open it', () => {
    const sealed = createTokenCipher(key).seal(token, 7);
    expect(createTokenCipher(randomBytes(32).toString('hex')).open(sealed, 7)).to.equal(undefined);
  });

  it('a change of any single bit is seen: version, nonce, tag or ciphertext', () => {
    const cipher = createTokenCipher(key);
    const bytes = cipher.seal(token, 7);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes);
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(cipher.open(altered, 7), `bit ${bit}`).to.equal(undefined);
    }
  });

  it('what is cut, lengthened or foreign is unreadable', () => {
    const cipher = createTokenCipher(key);
    const sealed = cipher.seal(token, 7);
    for (let length = 0; length < sealed.length; length++) {
      expect(cipher.open(sealed.subarray(0, length), 7), `cut to ${length}`).to.equal(undefined);
    }
    const zero = Buffer.alloc(1);
    for (const bytes of [Buffer.concat([sealed, zero]), Buffer.concat([zero, sealed]), Buffer.from(token), zero]) {
      expect(cipher.open(bytes, 7), bytes.toString('hex')).to.equal(undefined);
    }
  });

  it('a bad key is refused with what is wanted, and is not quoted', () => {
    const bad = ['', 'short', 'z'.repeat(64), key.slice(1), `${key}0`, randomBytes(31).toString('base64'), `${key}\n`];
    for (const text of bad) {
      expect(tokenKeyProblem(text), JSON.stringify(text)).to.match(/^must be 32 random bytes/);
      expect(() => createTokenCipher(text)).to.throw(/must be 32 random bytes/);
      if (text !== '') expect(tokenKeyProblem(text)).not.to.include(text);
    }
    expect(tokenKeyProblem(key)).to.equal(undefined);
    expect(tokenKeyProblem(randomBytes(32).toString('base64'))).to.equal(undefined);
  });
});
