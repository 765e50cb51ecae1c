/**
 * A column of rows that go to Postgres as arrays, an array a column. Name, type and values stand together, so that a new
 * column of a statement is one line and no parameter has to be counted.
 */
export interface ArrayColumn<Row> {
  name: string;
  /** Of an element. */
  type: string;
  /**
   * @param usualMs the time that nearly all rows have
   * @returns the literal, as `array-literals.ts` makes them
   */
  toArray: (rows: readonly Row[], usualMs: number) => string;
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

export function arraysOf<Row>(columns: readonly ArrayColumn<Row>[], rows: readonly Row[], usualMs: number): string[] {
  return columns.map(({ toArray }) => toArray(rows, usualMs));
}
