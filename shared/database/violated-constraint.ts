import pg from 'pg';

/**
 * The name of the constraint that a statement violated, if that is what went wrong. This is the one boundary at which a
 * database error becomes an expected failure. Constraints have chosen names for this.
 */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
