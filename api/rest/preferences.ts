/** What a client prefers about a batch (RFC 7240, contract §7). */
export interface Preferences {
  /** `return=representation`. */
  detailed: boolean;
  /** `handling=lenient`. */
  lenient: boolean;
}

/**
 * Reads a Prefer header; Node joins several of them by commas. A preference that is unknown or does not parse is
 * ignored, and of one that is given twice the first counts (RFC 7240 §2).
 */
export function readPreferences(header: string | string[] | undefined): Preferences {
  if (header === undefined) return none;
  const values = new Map<string, string>();
  for (const preference of splitOutsideQuotes(String(header), ',')) {
    const [wanted = ''] = splitOutsideQuotes(preference, ';');
    const [, name = '', bare, quoted] = nameAndValue.exec(wanted.trim()) ?? [];
    const key = name.toLowerCase();
    if (!values.has(key)) values.set(key, bare ?? quoted ?? '');
  }
  return {
    detailed: values.get('return') === 'representation',
    lenient: values.get('handling') === 'lenient',
  };
}

/** The `Preference-Applied` header, which says what was honoured (RFC 7240 §3); undefined if that is nothing. */
export function preferenceApplied({ detailed, lenient }: Preferences): string | undefined {
  const applied = [...(detailed ? ['return=representation'] : []), ...(lenient ? ['handling=lenient'] : [])];
  return applied.length === 0 ? undefined : applied.join(', ');
}

const none: Preferences = { detailed: false, lenient: false };

/** `name`, `name=value` or `name="value"`; the values that mean something here need no escapes. */
const nameAndValue = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)|"([^"\\]*)"))?$/;

/** In one pass and without a pattern: one with quotes, blanks and repetition could be made to backtrack for long. */
function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
