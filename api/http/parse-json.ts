import { pointerStep } from '../../shared/contract/faults.js';
import { fail, succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';

/** Levels of arrays and objects; a batch has three. `JSON.stringify` is recursive and would not come back from 10,000. */
export const depthMax = 32;

/**
 * The value of a body's bytes: strict UTF-8, JSON, at most `depthMax` deep, and no object with the same key twice, where
 * `JSON.parse` would silently take the last one (reliability §1).
 *
 * @param bytes the body, a character for each byte (latin1)
 */
export function parseJson(bytes: string): Result<unknown> {
  const text = decodeUtf8(bytes);
  if (text === undefined) return fail('INVALID_INPUT', 'The body is not valid UTF-8.');
  if (text.trim() === '') return fail('INVALID_INPUT', 'The body is empty; a JSON object is wanted.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return fail('INVALID_INPUT', `The body is not valid JSON: ${(error as SyntaxError).message}.`);
  }
  const fault = findFault(text);
  return fault === undefined ? succeed(value) : fail('INVALID_INPUT', fault.message, { details: [fault] });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
// eslint-disable-next-line no-control-regex -- ASCII is what it says.
const ascii = /^[\x00-\x7f]*$/;

function decodeUtf8(bytes: string): string | undefined {
  // Nearly every body: what is ASCII is the same in both.
  if (ascii.test(bytes)) return bytes;
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** An array or object that the scan is inside of. */
interface Frame {
  /** Undefined for an array. */
  keys: Set<string> | undefined;
  /** Where the scan is in it: the key of a member, or the number of an item. */
  at: string | number;
  wantsKey: boolean;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** One pass over a text that is known to be JSON, so only strings and the six structural characters matter. */
function findFault(text: string): { path: string; message: string } | undefined {
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = endOfString(text, at);
      if (frame?.keys !== undefined && frame.wantsKey) {
        frame.at = keyOf(text, at, end);
        frame.wantsKey = false;
        if (frame.keys.has(frame.at)) return { path: pointerTo(frames), message: 'Is given more than once.' };
        frame.keys.add(frame.at);
      }
      at = end;
    } else if (character === comma && frame !== undefined) {
      if (typeof frame.at === 'number') frame.at += 1;
      else frame.wantsKey = true;
    } else if (character === openBrace || character === openBracket) {
      if (frames.length === depthMax)
        return { path: pointerTo(frames), message: `Is nested more than ${depthMax} deep.` };
      frame =
        character === openBrace
          ? { keys: new Set(), at: '', wantsKey: true }
          : { keys: undefined, at: 0, wantsKey: false };
      frames.push(frame);
    } else if (character === closeBrace || character === closeBracket) {
      frames.pop();
      frame = frames.at(-1);
    }
  }
  return undefined;
}

/** The closing quote: the next one before which the run of backslashes is even. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let slash = end - 1;
    while (text.charAt(slash) === '\\') slash -= 1;
    if ((end - slash) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  throw new Error('the scan ran off a text that had been parsed as JSON');
}

/** `"\u0064elta"` is the key `delta`. */
function keyOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function pointerTo(frames: readonly Frame[]): string {
  return frames.map(({ at }) => pointerStep(at)).join('');
}
