import type { Knex } from 'knex';
import pg from 'pg';
import { endOnFault } from './raw-connection.js';

/** How node-postgres opens a session, which it does not type. */
interface Opening {
  getStartupConf: () => Record<string, string>;
}

const startupOf = (pg.Client.prototype as unknown as Opening).getStartupConf;

/** node-postgres, with what it leaves undone when a session is opened. */
class SessionClient extends pg.Client implements Opening {
  /**
   * The driver gives a session up and leaves its socket open where it cannot log in by itself: asked for a password that the
   * address does not have, an API took every connection that Postgres allows within 20 s, each for a minute.
   */
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    endOnFault(this);
  }

  /**
   * The driver reads times only as `2026-11-22 23:39:19+00`, and one in another form as null, without a word: with
   * `ALTER ROLE … SET DateStyle = 'German'` a key that was revoked or had expired was good for ever. Said with the start of
   * a session it costs no round trip and stands above what the role or the database sets; poolers know it, as drivers for
   * Java send it always.
   */
  getStartupConf(): Record<string, string> {
    return { ...startupOf.call(this), DateStyle: 'ISO' };
  }
}

/** Lets the pool of this `Knex` open its sessions so. */
export function withSessions(database: Knex): Knex {
  (database.client as { driver: { Client: typeof pg.Client } }).driver = { Client: SessionClient };
  return database;
}
