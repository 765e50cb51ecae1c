import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { connectDatabase } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import { readRows } from '../../../shared/database/read-rows.js';
import { testPostgres } from '../../support/processes/servers.js';
import { standStill } from '../../support/processes/stand-still.js';

describe('a pool whose process stood still', () => {
  let database: Database;
  beforeEach(async () => {
    const { url } = await testPostgres();
    database = connectDatabase({ url, poolMax: 1, applicationName: 'test' });
  });
  afterEach(() => database.destroy());

  const found = [{ found: 1 }];
  const ask = () => readRows(database, 'SELECT 1 AS found', {});

  /** At the end of a turn, after which the timers come before the sockets. */
  async function standStillNow(ms: number): Promise<void> {
    await nextTurn();
    standStill(ms);
  }

  it('for longer than a connection may take to open has the one that it was opening', async () => {
    const asked = ask();
    await standStillNow(2_100);
    expect(await asked).to.deep.equal(found);
  });

  it('for longer than one may wait for a connection has the one that came free', async () => {
    await ask();
    const before = readRows(database, 'SELECT 1 AS found FROM pg_sleep(0.1)', {});
    const after = ask();
    await standStillNow(3_100);
    expect(await Promise.all([before, after])).to.deep.equal([found, found]);
  });
});
