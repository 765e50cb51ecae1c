/**
 * Whether a text can be stored as it is: Postgres refuses U+0000 (22021), and a lone surrogate would be stored as
 * U+FFFD or refused (22P02). Holds for every text of a body, a query and a path (contract §2).
 */
export function isCleanText(text: string): boolean {
  return !unstorable.test(text);
}

/** The text with U+FFFD in place of every character that `isCleanText` refuses. */
export function mendText(text: string): string {
  return text.replace(everyUnstorable, '\ufffd');
}

/** Characters of an `imageUrl` (contract §2). */
export const addressCharactersMax = 2_048;

/** A character takes two of these at most. */
const addressUnitsMax = 2 * addressCharactersMax;

/** Whether a text is longer than any address that can be stored. */
export function isTooLongForAddress(text: string): boolean {
  return text.length > addressUnitsMax;
}

/**
 * An absolute http or https address without blanks; it is only ever stored, never fetched (contract §2 `imageUrl`). One
 * that is too long is not parsed: that takes time by the square of its host's length (200 KB of accents: 5 s).
 */
export function isHttpUrl(text: string): boolean {
  return !isTooLongForAddress(text) && httpUrl.test(text) && isCleanText(text) && URL.canParse(text);
}

// With the u flag a well-formed pair is one code point, so \p{Cs} finds only surrogates that stand alone.
const unstorable = /[\0\p{Cs}]/u;
const everyUnstorable = new RegExp(unstorable, 'gu');
const httpUrl = /^https?:\/\/[^\s/?#]\S*$/i;
