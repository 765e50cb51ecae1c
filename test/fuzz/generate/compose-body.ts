import { deflateSync, gzipSync } from 'node:zlib';
import type { Dice } from '../../support/dice.js';
import type { PublishedOperation } from './published.js';
import { spoilText } from './spoil-text.js';
import { nearlyValid, wildValue } from './spoil.js';
import { validValue } from './values.js';
import type { ValueDeps } from './values.js';

const typeSpoils = [
  'text/plain',
  'application/json; charset=latin1',
  'application/json;',
  'multipart/form-data',
  'x',
  '',
];
const largeBytes = 1_048_577;

export function composeBody(
  deps: ValueDeps,
  { body }: PublishedOperation,
  isOff: boolean,
): { headers: Record<string, string>; bytes: Buffer } {
  const { dice } = deps;
  if (body === undefined) {
    if (!isOff || dice.chance(0.5)) return { headers: {}, bytes: Buffer.alloc(0) };
    return framed(dice, 'application/json', Buffer.from(JSON.stringify(wildValue(dice))), 'identity');
  }
  const type = dice.pick(body.types);
  if (!isOff) return framed(dice, type, Buffer.from(JSON.stringify(validValue(deps, body.schema))), coding(dice));
  switch (dice.below(8)) {
    case 0:
      return framed(
        dice,
        dice.pick(typeSpoils),
        Buffer.from(JSON.stringify(validValue(deps, body.schema))),
        'identity',
      );
    case 1:
      return framed(dice, type, Buffer.from(JSON.stringify(wildValue(dice))), coding(dice));
    case 2:
    case 3:
      return framed(dice, type, spoilText(dice, JSON.stringify(validValue(deps, body.schema))), 'identity');
    case 4:
      // A megabyte costs as much as a thousand other requests.
      if (dice.chance(0.05)) return framed(dice, type, Buffer.alloc(largeBytes, ' '), 'identity');
      return framed(
        dice,
        type,
        Buffer.from(JSON.stringify(validValue(deps, body.schema))),
        dice.pick(['junk', 'zstd', 'br']),
      );
    default:
      return framed(dice, type, Buffer.from(JSON.stringify(nearlyValid(deps, body.schema))), coding(dice));
  }
}

function coding(dice: Dice): string {
  return dice.chance(0.05) ? dice.pick(['gzip', 'deflate']) : 'identity';
}

/** `junk` and `br` are said to be compressed and are not. */
function framed(
  dice: Dice,
  type: string,
  bytes: Buffer,
  encoding: string,
): { headers: Record<string, string>; bytes: Buffer } {
  const coded = encoding === 'gzip' ? gzipSync(bytes) : encoding === 'deflate' ? deflateSync(bytes) : bytes;
  const headers: Record<string, string> = { 'Content-Type': type };
  if (encoding !== 'identity') headers['Content-Encoding'] = encoding === 'junk' ? 'gzip' : encoding;
  if (dice.chance(0.05))
    return { headers: { ...headers, 'Transfer-Encoding': 'chunked' }, bytes: chunked(dice, coded) };
  return { headers: { ...headers, 'Content-Length': String(coded.length) }, bytes: coded };
}

function chunked(dice: Dice, bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const part = bytes.subarray(start, start + 1 + dice.below(Math.max(8, bytes.length)));
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    start += part.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
