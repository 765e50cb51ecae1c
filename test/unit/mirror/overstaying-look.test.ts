import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { isDriverTimeout } from '../../../shared/database/errors.js';
import { findDueShops } from '../../../shared/database/platform-syncs.js';
import { findShop } from '../../../shared/database/shops.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';

describe('a look of the mirrors that takes too long', () => {
  const server = useDatabase();

  const looks: [string, (database: Database) => Promise<unknown>][] = [
    ['which shops are due', (database) => findDueShops(database, { everyMs: 60_000, limit: 1 })],
    ['what a shop is connected to', (database) => findShop(database, 1)],
  ];
  for (const [title, look] of looks) {
    it(`is ended in Postgres as well: ${title}`, async () => {
      const impatient = connectForTest(server.url, { poolMax: 1, answerMsMax: 300 });
      try {
        await server.database.transaction(async (lock) => {
          await lock.raw('LOCK TABLE shops');
          expect(await look(impatient).catch((error: unknown) => error)).to.satisfy(isDriverTimeout);
          await untilWaiting(server.database, 0);
        });
      } finally {
        await impatient.destroy();
      }
    });
  }
});
