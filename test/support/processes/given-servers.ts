import type { Database } from '../../../shared/database/connect.js';
import { useDatabase } from '../database/database.js';
import { temporaryFolder } from '../temporary-folder.js';
import { startTestRedis } from './servers.js';
import type { TestRedis } from './servers.js';

/** What an `npm start` has that is given its servers. */
export interface GivenServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** A pool on the database, for the test. */
  readonly database: Database;
  /** Its data folder. */
  readonly folder: string;
}

/** A database, a Redis and a data folder of the suite's own, from its first hook on. */
export function useGivenServers(): GivenServers {
  const own = useDatabase();
  let redis: TestRedis;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => {
    redis = await startTestRedis();
    folder = await temporaryFolder();
  });
  after(async () => {
    await redis.stop();
    await folder.remove();
  });
  return {
    get databaseUrl() {
      return own.url;
    },
    get redisUrl() {
      return redis.url;
    },
    get database() {
      return own.database;
    },
    get folder() {
      return folder.path;
    },
  };
}
