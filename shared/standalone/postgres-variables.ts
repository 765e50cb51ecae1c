/**
 * Removes libpq's variables from an environment whose database is the embedded one: the driver reads them too, and a
 * user's PGSSLMODE or PGOPTIONS, meant for another server, would keep it from this one. With a DATABASE_URL they are
 * the operator's business.
 */
export function dropPostgresVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (/^PG[A-Z]+$/.test(name)) Reflect.deleteProperty(env, name);
}
