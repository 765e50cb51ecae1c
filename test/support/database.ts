import { connectDatabase } from '../../shared/database/connect.js';
import type { ConnectOptions, Database } from '../../shared/database/connect.js';
import { createTestDatabase } from './servers.js';
import type { TestDatabase } from './servers.js';

/** A database of the suite's own, with its schema, and a pool on it; both are there from the suite's first hook on. */
export function useDatabase(options: Partial<Omit<ConnectOptions, 'url'>> = {}): {
  readonly database: Database;
  readonly url: string;
} {
  let server: TestDatabase;
  let database: Database;
  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase({ poolMax: 4, applicationName: 'test', ...options, url: server.url });
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
