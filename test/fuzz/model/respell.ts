/** Ways to write the same JSON. */
export const spellings = ['as it was', 'turned round', 'with exponents'] as const;

/** The same JSON in another spelling: members from the last to the first, blanks, `1.5e0` for `1.5`. */
export function respelled(body: string, spelling: (typeof spellings)[number]): string {
  if (spelling === 'as it was') return body;
  return spelled(JSON.parse(body), spelling === 'with exponents');
}

function spelled(value: unknown, hasExponents: boolean): string {
  if (Array.isArray(value)) return `[ ${value.map((item) => spelled(item, hasExponents)).join(' ,\n')} ]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `"${name}"\t: ${spelled(member, hasExponents)}`);
    return `{ ${members.reverse().join(' ,\r\n')} }`;
  }
  const text = JSON.stringify(value);
  return hasExponents && typeof value === 'number' && !text.includes('e') ? `${text}e0` : text;
}
