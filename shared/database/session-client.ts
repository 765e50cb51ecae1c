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
   * If the driver itself cannot log in, it gives the session up but leaves its socket open. Asked for a password that
   * the address did not have, an API took, within 20 s, every connection that Postgres allows, each for a minute.
   */
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    endOnFault(this);
  }

  /**
   * The driver reads times only as `2026-11-22 23:39:19+00`, and any other form as null, without a word: with
   * `ALTER ROLE … SET DateStyle = 'German'` a key that was revoked or had expired was good for ever. Sent with the
   * start of a session, the setting costs no round trip and overrides those of the role and the database. Poolers know
   * it, since drivers for Java always send it.
   */
  getStartupConf(): Record<string, string> {
    return { ...startupOf.call(this), DateStyle: 'ISO' };
  }
}

/** Makes the pool of this `Knex` open its sessions as `SessionClient`. */
export function withSessions(database: Knex): Knex {
  (database.client as { driver: { Client: typeof pg.Client } }).driver = { Client: SessionClient };
  return database;
}
