/**
 * What went wrong, for a person. A host with several addresses fails once for each, and all of it is told. Drivers name
 * host and port, never the password.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
