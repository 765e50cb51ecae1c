import type { Dice } from '../../support/dice.js';

const closeEnough = 100_000;

/**
 * The bytes of a body after a fault that no JSON value can hold: duplicate keys, numbers beyond a double, depth, bytes.
 */
export function spoilText(dice: Dice, text: string): Buffer {
  const at = dice.below(text.length + 1);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  switch (dice.below(10)) {
    case 0:
      return Buffer.from(text.replace(/\{"(\w+)":/, '{"$1":0,"$1":'));
    case 1:
      return Buffer.from(
        text.replace(/-?\d+(\.\d+)?/, dice.pick(['1e400', '-1e400', '1e-400', '01', '1.', '0x1', 'NaN'])),
      );
    case 2:
      return Buffer.from(nest(text, dice.pick([31, 32, 33, 10_000])));
    case 3:
      return Buffer.concat([Buffer.from(before), dice.pick(badBytes), Buffer.from(after)]);
    case 4:
      return Buffer.from(before);
    case 5:
      return Buffer.from(text + dice.pick(['}', ' ', '\0', text.slice(0, closeEnough), ',', '\ufeff']));
    case 6:
      return Buffer.from(
        dice.pick(['', ' \r\n', '[1]', 'null', '"x"', '5', '\ufeff{}', '{', '[', '{"a":}', "{'a':1}"]),
      );
    case 7:
      return Buffer.from(
        before + dice.pick([',', '"', '\\', '\\u0000', '\\ud800', '\n', '\x07', '/*', '{', ']']) + after,
      );
    case 8:
      return Buffer.from(text.replace('{', `{"__proto__":{"ok":false},"constructor":{"prototype":{"x":1}},`));
    default:
      return Buffer.from(text.replace('{', `{"junk":${nest('1', 31 + dice.below(3))},`));
  }
}

/** Invalid UTF-8: a lone byte, an overlong NUL, half of a surrogate pair, a text cut in the middle. */
const badBytes = ['ff', 'c080', 'eda080', 'e282', 'f0908080', 'f4908080', '00', 'efbbbf'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

function nest(text: string, depth: number): string {
  return '['.repeat(depth) + text.slice(0, closeEnough) + ']'.repeat(depth);
}
