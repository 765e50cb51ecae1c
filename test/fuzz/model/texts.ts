/**
 * Texts of fields: letters that have another length, or another partner, by some rules of case; the same letter in two
 * encodings; what a pattern or a statement of SQL could take for its own; and two that stand the other way round by
 * UTF-16 units than by characters.
 */
export const texts = [
  'Wax',
  'wax',
  'Oil2',
  '7up',
  'Stra\u00dfe',
  'STRASSE',
  '\u0130zmir',
  'izmir',
  '\u039f\u0394\u039f\u03a3',
  '\u03bf\u03b4\u03bf\u03c2',
  'Caf\u00c9',
  'cafe\u0301',
  '100%_\\',
  `O'Neil "x"`,
  '\u{10400}\u{10428}',
  '\uff21',
] as const;

/** Parts of them, and what they must not match. */
export const searched = [
  ...['', 'wax', 'MAT', 'z', 'ia', '005', '%', '_', '\\', '%_', `'`, '"', 'S', 'ss', '\u00df', '\u1e9e'],
  ...['I', '\u0130', '\u0131', '\u03c3', '\u03c2', '\u03bf\u03b4', 'F\u00e9', 'e\u0301', 'e', '\u{10428}', '\uff41'],
];

/** The lower case of each character by itself, as the contract has it: \u03c2 and \u03c3 are two, \u0130 is one. */
export function lowerCase(text: string): string {
  return Array.from(text, (character) => Array.from(character.toLowerCase())[0]).join('');
}

/** By characters, as UTF-8 sorts. */
export function compareTexts(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
