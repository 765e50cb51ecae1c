import type { ErrorDetail } from '../domain/errors.js';
import { pointerStep } from './faults.js';

/** Levels of arrays and objects; a batch has three. `JSON.stringify` is recursive and fails at about 10,000. */
export const depthMax = 32;

/** Members and items over all levels; a thousand rows with all their fields have seven thousand. */
export const partsMax = 20_000;

/**
 * Finds what `JSON.parse` silently accepts: a key that an object has twice (it takes the last one), nesting deeper than
 * `depthMax`, and more than `partsMax` members and items, each of which costs far more to process than its few bytes
 * (reliability §1). It passes once over the text, and looks only at strings, brackets, braces and commas: whether it is
 * JSON, `JSON.parse` says.
 *
 * @returns the first fault, with its place as a JSON Pointer; of a text that is no JSON, perhaps one that it has as
 *   well, and undefined as soon as that is seen
 */
export function findJsonFault(text: string): ErrorDetail | undefined {
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  let parts = 0;
  // In JSON each but the outermost is a member or an item. So with more than that this is no JSON, or finds as many parts.
  let opened = 0;
  for (let at = 0; at < text.length && parts <= partsMax && opened <= partsMax + 1; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = endOfString(text, at);
      if (frame?.keys !== undefined && frame.wantsKey) {
        const key = keyOf(text, at, end);
        if (key === undefined) return undefined;
        frame.at = key;
        frame.wantsKey = false;
        if (frame.keys.has(key)) return { path: pointerTo(frames), message: 'Is given more than once.' };
        frame.keys.add(key);
      }
      at = end;
    } else if (character === comma && frame !== undefined) {
      if (typeof frame.at === 'number') frame.at += 1;
      else frame.wantsKey = true;
      parts += 1;
    } else if (character === openBrace || character === openBracket) {
      if (frames.length === depthMax)
        return { path: pointerTo(frames), message: `Is nested more than ${depthMax} deep.` };
      frame =
        character === openBrace
          ? { keys: new Set(), at: '', wantsKey: true }
          : { keys: undefined, at: 0, wantsKey: false };
      frames.push(frame);
      opened += 1;
      // Counts the first member or item; each further one is counted at its comma.
      if (!closesAtOnce(text, at)) parts += 1;
    } else if (character === closeBrace || character === closeBracket) {
      frames.pop();
      frame = frames.at(-1);
    }
  }
  return parts > partsMax ? { path: '', message: `Holds more than ${partsMax} members and items.` } : undefined;
}

/** An array or object that the scan is inside of. */
interface Frame {
  /** Undefined for an array. */
  keys: Set<string> | undefined;
  /** Where the scan is in it: the key of a member, or the number of an item. */
  at: string | number;
  wantsKey: boolean;
}

/** JSON allows blanks, tabs and line ends between two tokens, and this is the greatest of them. */
const blank = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Whether the array or object that opens here holds nothing. */
function closesAtOnce(text: string, start: number): boolean {
  let next = start + 1;
  while (text.charCodeAt(next) <= blank) next += 1;
  const character = text.charCodeAt(next);
  return character === closeBrace || character === closeBracket;
}

/** The closing quote: the next one with an even number of backslashes right before it. Without one, the text's end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let slash = end - 1;
    while (text.charAt(slash) === '\\') slash -= 1;
    if ((end - slash) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** `"\u0064elta"` is the key `delta`. Undefined where it is no JSON. */
function keyOf(text: string, start: number, end: number): string | undefined {
  const raw = text.slice(start + 1, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return undefined;
  }
}

function pointerTo(frames: readonly Frame[]): string {
  return frames.map(({ at }) => pointerStep(at)).join('');
}
