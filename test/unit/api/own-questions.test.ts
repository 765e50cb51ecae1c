import { expect } from 'chai';
import { createPools } from '../../../api/pools.js';
import type { Pools } from '../../../api/pools.js';
import { findKeyWithShop } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { findOutcomes } from '../../../shared/database/operations.js';
import { checkRecentLedger } from '../../../shared/database/recent-ledger-check.js';
import { withLockedTable } from '../../support/database/broken-storage.js';
import { useDatabase } from '../../support/database/database.js';
import { until } from '../../support/time/until.js';

const bounds = { levelsMax: 1, entriesPerLevelMax: 1 };
const nobodys = '01a21670-1845-73da-a673-0748b55188ea';

describe('what a process asks Postgres beside the requests, while the table is held', () => {
  const postgres = useDatabase();
  let pools: Pools;
  beforeEach(() => {
    pools = createPools({ DATABASE_URL: postgres.url, DATABASE_POOL_MAX: 4, READ_TIMEOUT_MS: 5_000 });
  });
  afterEach(() => pools.destroy());

  async function waiting(): Promise<number> {
    const { rows } = await postgres.database.raw<{ rows: { count: number }[] }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'raw-materials-api' AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.count ?? -1;
  }

  const questions: [what: string, table: string, ask: (database: Database) => Promise<unknown>][] = [
    ['for a key', 'shops', (database) => findKeyWithShop(database, 'a'.repeat(12))],
    ['for outcomes', 'operations', (database) => findOutcomes(database, [nobodys])],
    // A worker's, on whose pool it is the same.
    ['for the ends of ledgers', 'ledger', (database) => checkRecentLedger(database, [], bounds)],
  ];
  for (const [what, table, ask] of questions) {
    it(`${what} leaves no session behind in Postgres once it is given up`, async () => {
      await withLockedTable(postgres.database, table, async () => {
        let isGivenUp = false;
        const asked = ask(pools.database)
          .catch((error: unknown) => error)
          .finally(() => (isGivenUp = true));
        // A machine that stood still may come to look only after that.
        const isSeen = async () => (await waiting()) === 1 || isGivenUp;
        await until(isSeen, { deadlineMs: 15_000, what: 'the question' });
        expect(await asked)
          .to.be.an('error')
          .with.property('message')
          .that.contains('Query read timeout');
        await until(async () => (await waiting()) === 0, { deadlineMs: 5_000, what: 'the session to be at nothing' });
      });
    });
  }
});
