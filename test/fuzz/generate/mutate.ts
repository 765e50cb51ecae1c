import type { Dice } from '../../support/dice.js';

/** What parsers of HTTP have been tripped up by. */
const tokens = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  '\t',
  ' ',
  ':',
  '\r\n\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '-1\r\n',
  '5;a="\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Content-Length: 0x10\r\n',
  'Expect: 100-continue\r\n',
  'Expect: something\r\n',
  'Connection: Upgrade\r\nUpgrade: h2c\r\n',
  'Connection: close\r\n',
  'Host: \r\n',
  'Host: a\r\nHost: b\r\n',
  ' HTTP/1.0\r\n',
  ' HTTP/2.0\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'CONNECT x:1 HTTP/1.1\r\n',
  'OPTIONS * HTTP/1.1\r\n',
  'BREW ',
  'http://x/',
  'http://[a',
  '%00',
  '%ED%A0%80',
  '..%2f',
  '\x16\x03\x01\x02\x00',
  `X: ${'x'.repeat(17_000)}\r\n`,
  'a: b\r\n'.repeat(2_100),
].map((text) => Buffer.from(text, 'latin1'));

/** Some requests with a few faults in their bytes, wherever they fall. */
export function mutate(dice: Dice, requests: readonly Buffer[]): Buffer {
  let bytes = Buffer.concat(requests);
  const faults = 1 + dice.below(3);
  for (let fault = 0; fault < faults; fault += 1) bytes = mutateOnce(dice, bytes, requests);
  return bytes;
}

function mutateOnce(dice: Dice, bytes: Buffer, others: readonly Buffer[]): Buffer<ArrayBuffer> {
  const start = dice.below(bytes.length + 1);
  const end = Math.min(bytes.length, start + 1 + dice.below(dice.chance(0.8) ? 8 : 400));
  const [before, within, after] = [bytes.subarray(0, start), bytes.subarray(start, end), bytes.subarray(end)];
  switch (dice.below(9)) {
    case 0:
      return Buffer.concat([before, Buffer.from([dice.below(256)]), after]);
    case 1:
      return Buffer.concat([before, Buffer.from([dice.below(256)]), within, after]);
    case 2:
      return Buffer.concat([before, after]);
    case 3:
      return Buffer.concat([before, within, within, after]);
    case 4:
      return Buffer.concat([before]);
    case 5:
      return Buffer.concat([before, dice.pick(others).subarray(dice.below(200))]);
    case 6:
      return Buffer.concat([atLineEnd(dice, bytes)]);
    default:
      return Buffer.concat([before, dice.pick(tokens), within, after]);
  }
}

/** A token where a line ends: there it is read as a header, a chunk or a request of its own. */
function atLineEnd(dice: Dice, bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n', dice.below(bytes.length + 1));
  if (end < 0) return bytes;
  return Buffer.concat([bytes.subarray(0, end + 2), dice.pick(tokens), bytes.subarray(end + 2)]);
}

/** The same bytes in parts, cut anywhere: in the middle of a line's end, of a character, of a chunk's size. */
export function split(dice: Dice, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: dice.chance(0.5) ? 0 : 1 + dice.below(5) }, () => dice.below(bytes.length + 1));
  const places = [0, ...cuts.sort((one, other) => one - other), bytes.length];
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}
