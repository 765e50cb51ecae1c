import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export interface TokenCipher {
  /** The token as it may be stored: different each time, of use only to the same shop and key. */
  seal(token: string, shopId: number): Buffer;
  /** The token in clear; undefined when it was sealed with another key or for another shop, or was altered. */
  open(sealed: Buffer, shopId: number): string | undefined;
}

/**
 * The cipher for platform tokens at rest: AES-256-GCM (contract §8). The shop's id is authenticated with it, so that a
 * sealed token copied to another shop's row does not open there.
 * Sealed bytes: version (1) · nonce (12) · tag (16) · ciphertext; the version allows another scheme beside old rows.
 */
export function createTokenCipher(key: string): TokenCipher {
  const keyBytes = decodeKey(key);
  if (keyBytes === undefined) throw new Error(`the key of the platform tokens ${keyWanted}`);
  return {
    seal(token, shopId) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keyBytes, nonce, { authTagLength: tagBytes });
      cipher.setAAD(boundTo(shopId));
      const ciphertext = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), ciphertext]);
    },
    open(sealed, shopId) {
      if (sealed.length < headBytes || sealed[0] !== version) return undefined;
      const decipher = createDecipheriv(algorithm, keyBytes, sealed.subarray(1, 1 + nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(boundTo(shopId));
      decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
      const clear = decipher.update(sealed.subarray(headBytes));
      try {
        return Buffer.concat([clear, decipher.final()]).toString('utf8');
      } catch {
        // final() throws for one reason only: the tag does not fit.
        return undefined;
      }
    },
  };
}

/**
 * What is wrong with the text of a key, as the end of a sentence about it; undefined for a good one. Never quotes it.
 */
export function tokenKeyProblem(key: string): string | undefined {
  return decodeKey(key) === undefined ? keyWanted : undefined;
}

const keyWanted = 'must be 32 random bytes as 64 hexadecimal digits or as base64 (make one: openssl rand -hex 32)';

const algorithm = 'aes-256-gcm';
const version = 1;
const keyBytesLength = 32;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;

function decodeKey(key: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(key)) return Buffer.from(key, 'hex');
  if (!/^[A-Za-z0-9+/]{43}=?$/.test(key)) return undefined;
  const bytes = Buffer.from(key, 'base64');
  return bytes.length === keyBytesLength ? bytes : undefined;
}

function boundTo(shopId: number): Buffer {
  return Buffer.from(`shop:${shopId}`, 'utf8');
}
