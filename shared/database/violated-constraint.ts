import pg from 'pg';

/**
 * The name of the constraint that a statement ran into, where that is what went wrong: the one boundary at which an error
 * of the database becomes an expected failure. Constraints have chosen names for this.
 */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
