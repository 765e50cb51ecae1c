/**
 * A column of rows that go to Postgres as arrays, an array a column. Name, type and values stand together, so that a
 * new column of a statement is one line and no parameter has to be counted.
 */
export interface ArrayColumn<Row> {
  name: string;
  /** Of an element. */
  type: string;
  /** @returns the literal, as `array-literals.ts` makes them */
  toArray: (rows: readonly Row[]) => string;
}

type Named = Pick<ArrayColumn<unknown>, 'name' | 'type'>;

/**
 * What makes rows of arrays again within a statement. Each call takes the next parameters, from `$first` on; their
 * values come in the same order, by `arraysOf`. Arrays are unnested in a select list and not in FROM, where Postgres
 * would first copy each of them whole.
 */
export function unnestFrom(first: number): (columns: readonly Named[]) => string {
  let parameter = first;
  return (columns) => {
    const unnested = columns.map(({ name, type }, index) => `unnest($${parameter + index}::${type}[]) AS ${name}`);
    parameter += columns.length;
    return `SELECT ${unnested.join(', ')}`;
  };
}

export function namesOf(columns: readonly Named[]): string {
  return columns.map(({ name }) => name).join(', ');
}

export function arraysOf<Row>(columns: readonly ArrayColumn<Row>[], rows: readonly Row[]): string[] {
  return columns.map(({ toArray }) => toArray(rows));
}

/** As `unnestFrom(…)`, where parameters have names (`raw` of Knex), which are those of their columns. */
export function unnestNamed(columns: readonly Named[]): string {
  return `SELECT ${columns.map(({ name, type }) => `unnest(CAST(:${name} AS ${type}[])) AS ${name}`).join(', ')}`;
}

export function namedArraysOf<Row>(columns: readonly ArrayColumn<Row>[], rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(columns.map(({ name, toArray }) => [name, toArray(rows)]));
}

/** Columns for rows that hold such as these columns are for. */
export function columnsWithin<Row, Outer>(
  columns: readonly ArrayColumn<Row>[],
  rowOf: (outer: Outer) => Row,
): ArrayColumn<Outer>[] {
  return columns.map(({ toArray, ...named }) => ({ ...named, toArray: (rows) => toArray(rows.map(rowOf)) }));
}
