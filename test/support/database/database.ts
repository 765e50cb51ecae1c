import createKnex from 'knex';
import type { Knex } from 'knex';
import { knexConfig } from '../../../shared/database/connect.js';
import type { ConnectOptions, Database } from '../../../shared/database/connect.js';
import { withSessions } from '../../../shared/database/session-client.js';
import { createTestDatabase } from '../processes/servers.js';
import type { TestDatabase } from '../processes/servers.js';

/** A service gives up sooner than a test should that waits beside many processes for its turn on a core. */
const patientMs = 30_000;

/** A pool as the service's own, but that waits longer for a connection: how long that takes is no test's verdict. */
export function connectForTest(url: string, options: Partial<Omit<ConnectOptions, 'url'>> = {}): Database {
  const config = knexConfig({ poolMax: 2, applicationName: 'test', ...options, url });
  return withSessions(
    createKnex({
      ...config,
      connection: { ...(config.connection as Knex.PgConnectionConfig), connectionTimeoutMillis: patientMs },
      acquireConnectionTimeout: patientMs,
    }),
  );
}

/** A database of the suite's own, with its schema, and a pool on it; both are there from the suite's first hook on. */
export function useDatabase(options: Partial<Omit<ConnectOptions, 'url'>> = {}): {
  readonly database: Database;
  readonly url: string;
} {
  let server: TestDatabase;
  let database: Database;
  before(async () => {
    server = await createTestDatabase();
    database = connectForTest(server.url, { poolMax: 4, ...options });
  });
  after(async () => {
    await database.destroy();
    await server.drop();
  });
  return {
    get database() {
      return database;
    },
    get url() {
      return server.url;
    },
  };
}
