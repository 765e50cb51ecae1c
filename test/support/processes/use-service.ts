import type { Database } from '../../../shared/database/connect.js';
import { connectForTest } from '../database/database.js';
import { startService } from './service.js';
import type { Service, ServiceOptions } from './service.js';

interface Started {
  service: Service;
  database: Database;
}

/** A service of the suite's own and a pool on its database, from the suite's first hook on; both end with the suite. */
export function useService(options: ServiceOptions, onStarted: (started: Started) => void): void {
  let started: Started | undefined;
  before(async () => {
    const service = await startService(options);
    started = { service, database: connectForTest(service.databaseUrl) };
    onStarted(started);
  });
  after(async () => {
    await started?.database.destroy();
    await started?.service.stop();
  });
}
