import { isCleanText } from '../../shared/contract/text-rules.js';

/** The text of a percent-encoded part; undefined where it is no UTF-8 or could not be stored. */
export function decodeText(encoded: string): string | undefined {
  try {
    const text = decodeURIComponent(encoded);
    return isCleanText(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
