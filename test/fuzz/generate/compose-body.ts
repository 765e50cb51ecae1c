import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
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
      if (dice.chance(0.05)) return framed(dice, type, Buffer.alloc(largeBytes, ' '), dice.pick(codings));
      return framed(
        dice,
        type,
        Buffer.from(JSON.stringify(validValue(deps, body.schema))),
        dice.pick(['zstd', 'gzip, gzip', 'x', ...codings, ...codings]),
        true,
      );
    default:
      return framed(dice, type, Buffer.from(JSON.stringify(nearlyValid(deps, body.schema))), coding(dice));
  }
}

function coding(dice: Dice): string {
  return dice.chance(0.05) ? dice.pick(codings) : 'identity';
}

/** How a content coding is done; one that is not here is only named in the header. */
const encoders: Partial<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  // Its own quality, 11, takes a hundred times as long.
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};
const codings = Object.keys(encoders);

/** @param isBroken whether what is said to be compressed is not, or not whole, or goes on behind its end */
function framed(
  dice: Dice,
  type: string,
  bytes: Buffer,
  encoding: string,
  isBroken = false,
): { headers: Record<string, string>; bytes: Buffer } {
  const whole = encoders[encoding]?.(bytes) ?? bytes;
  const coded = isBroken ? breakCoded(dice, whole, bytes) : whole;
  const headers: Record<string, string> = { 'Content-Type': type };
  if (encoding !== 'identity') headers['Content-Encoding'] = encoding;
  if (dice.chance(0.05))
    return { headers: { ...headers, 'Transfer-Encoding': 'chunked' }, bytes: chunked(dice, coded) };
  return { headers: { ...headers, 'Content-Length': String(coded.length) }, bytes: coded };
}

function breakCoded(dice: Dice, coded: Buffer, plain: Buffer): Buffer {
  const at = dice.below(coded.length);
  switch (dice.below(6)) {
    case 0:
      return plain;
    case 1:
      return coded.subarray(0, at);
    case 2:
      return Buffer.concat([coded, coded]);
    case 3:
      return Buffer.concat([coded, Buffer.from([dice.below(256), dice.below(256)])]);
    case 4:
      return Buffer.concat([coded, plain]);
    default:
      return Buffer.concat([coded.subarray(0, at), Buffer.from([dice.below(256)]), coded.subarray(at + 1)]);
  }
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
