import type { Knex } from 'knex';
import pg from 'pg';

/** How node-postgres opens a session, which it does not type. */
interface Opening {
  getStartupConf: () => Record<string, string>;
}

const startupOf = (pg.Client.prototype as unknown as Opening).getStartupConf;

/**
 * The driver reads times only as `2026-11-22 23:39:19+00`, and one in another form as null, without a word: with
 * `ALTER ROLE … SET DateStyle = 'German'` a key that was revoked or had expired was good for ever. Said with the start of
 * a session it costs no round trip and stands above what the role or the database sets; poolers know it, as drivers for
 * Java send it always.
 */
class ClientOfIsoDates extends pg.Client implements Opening {
  getStartupConf(): Record<string, string> {
    return { ...startupOf.call(this), DateStyle: 'ISO' };
  }
}

/** Lets the pool of this `Knex` open its connections so. */
export function withIsoDates(database: Knex): Knex {
  (database.client as { driver: { Client: typeof pg.Client } }).driver = { Client: ClientOfIsoDates };
  return database;
}
