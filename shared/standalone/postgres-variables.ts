/**
 * Takes the variables of libpq out of an environment, where the database is the embedded one: the driver reads them too, and
 * a user's PGSSLMODE or PGOPTIONS, meant for another server, would keep it from its own. With a DATABASE_URL they are the
 * operator's business.
 */
export function dropPostgresVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (/^PG[A-Z]+$/.test(name)) Reflect.deleteProperty(env, name);
}
