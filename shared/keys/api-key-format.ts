import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The two halves of a key that a look-up needs; the secret itself is kept nowhere (contract §5). */
export interface KeyIdentity {
  /** 12 characters; may be logged. */
  id: string;
  /** SHA-256 of the secret, 32 bytes; compare it in constant time. */
  secretHash: Buffer;
}

/**
 * A new API key: `rmk_`, 12 characters of id, 32 of secret, 6 of CRC-32 over all that precedes, in base 62
 * (contract §5). The secret holds 190 bits, so a plain SHA-256 of it withstands guessing; the id holds 71.
 */
export function mintKey(): KeyIdentity & { key: string } {
  const id = randomText(idLength);
  const secret = randomText(secretLength);
  const body = keyPrefix + id + secret;
  return { key: body + checksum(body), id, secretHash: hashSecret(secret) };
}

/**
 * What a key says about itself, without any look-up; undefined for a text that cannot be a key. The checksum refuses a
 * typo before it costs a read (contract §5); it proves nothing else.
 */
export function parseKey(text: string): KeyIdentity | undefined {
  const [, body, id, secret, sum] = keyForm.exec(text) ?? [];
  if (body === undefined || id === undefined || secret === undefined || checksum(body) !== sum) return undefined;
  return { id, secretHash: hashSecret(secret) };
}

const keyPrefix = 'rmk_';
const idLength = 12;
const secretLength = 32;
const checksumLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const keyForm = /^(rmk_([0-9A-Za-z]{12})([0-9A-Za-z]{32}))([0-9A-Za-z]{6})$/;

/** `randomInt` draws from the system's CSPRNG and rejects unfair values; a byte modulo 62 favours some characters. */
function randomText(length: number): string {
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

/** Runs for each request's key: `createHash`, which makes an object for each hash, takes 1.3 µs instead of 0.4. */
function hashSecret(secret: string): Buffer {
  return Buffer.from(hash('sha256', secret, 'hex'), 'hex');
}

/** 62⁶ is 5.7e10, so 32 bits always fit in six characters. */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let place = 0; place < checksumLength; place += 1) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
