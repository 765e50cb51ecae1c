/**
 * What went wrong, for a person. A host with several addresses fails once for each, and all of it is told. Drivers name
 * host and port, never the password.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return plainly(error instanceof Error ? error.message : String(error));
}

/**
 * What a driver says to its programmers. Here it is always a fault outside of the program: the options that ioredis names
 * are as they are to be (`redis/connections.ts`).
 */
const plainWords: readonly [said: RegExp, plain: string][] = [
  [/Knex: Timeout acquiring a connection\..*\?/, 'no connection came free'],
  [/Stream isn't writeable and enableOfflineQueue options is false/, 'the connection to Redis is lost'],
  [/Reached the max retries per request limit \(.*\)\. Refer to .* for details\./, 'the connection to Redis is lost'],
];

/** The message of an error in the words of an operator. */
export function plainly(message: string): string {
  return plainWords.reduce((text, [said, plain]) => text.replace(said, plain), message);
}
