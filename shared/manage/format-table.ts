export type Cell = string | number | boolean | null | undefined;

/**
 * Lines for people: a head, then a row each, columns as wide as their widest cell, numbers to the right. Control
 * characters become `�`: a product's name comes from outside, and must not move the cursor of an operator's terminal.
 */
export function formatTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(show));
  const widths = head.map((title, column) => {
    // Not as arguments of one call: some 120,000 are more than the stack holds, and a shop may have more keys.
    return cells.reduce((most, row) => Math.max(most, width(row[column] ?? '')), width(title));
  });
  const isNumeric = head.map((_, column) => rows.some((row) => typeof row[column] === 'number'));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, isNumeric[column] ?? false))
      .join('  ')
      .trimEnd();
  return [head, ...cells].map(line).join('\n');
}

/** `1 level`, `2 levels`; of nouns whose plural ends with an s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A name and its value a line. */
export function formatFields(fields: readonly (readonly [string, Cell])[]): string {
  const longest = Math.max(...fields.map(([name]) => width(name)));
  return fields.map(([name, value]) => `${pad(name, longest, false)}  ${show(value)}`.trimEnd()).join('\n');
}

/** A name in a file may be a mebibyte long; of a longer one than this, the begin is shown. */
const nameCharactersMax = 80;

/** A name that a file gives, for whoever reads what is wrong with it: as in a table, and cut. */
export function shownName(name: string): string {
  const begin = name.length > nameCharactersMax ? `${name.slice(0, nameCharactersMax)}…` : name;
  // By way of its bytes it is a copy. A part of a text keeps all of it in memory: 10,000 cells of a mebibyte, say.
  return withoutControls(Buffer.from(begin).toString());
}

function show(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return withoutControls(String(cell));
}

function withoutControls(text: string): string {
  // eslint-disable-next-line no-control-regex -- Exactly these are meant.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}

function pad(cell: string, columns: number, toTheRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, columns - width(cell)));
  return toTheRight ? blanks + cell : cell + blanks;
}

/** In code points: exact for most of what shops write; double-width scripts come out a little ragged. */
function width(text: string): number {
  return Array.from(text).length;
}
