import { expect } from 'chai';
import { connectDatabase } from '../../../shared/database/connect.js';
import { createKnownDatabase, readDatabaseIdentity } from '../../../shared/database/database-identity.js';
import { createStorageQuestion, createWriteQuestion } from '../../../shared/database/takes-writes.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { createEmptyDatabase } from '../../support/processes/servers.js';

describe('which database this is', () => {
  const postgres = useDatabase();

  it('is the same for each connection and another for each database, of the same server too', async () => {
    const identity = await readDatabaseIdentity(postgres.database);
    expect(identity).to.match(/^\d+\.\d+$/);
    expect(await readDatabaseIdentity(postgres.database)).to.equal(identity);
    const empty = await createEmptyDatabase();
    const other = connectForTest(empty.url, { poolMax: 1 });
    expect(await readDatabaseIdentity(other))
      .to.match(/^\d+\.\d+$/)
      .and.not.equal(identity);
    await other.destroy();
    await empty.drop();
  });

  it('is not known where this Postgres does not have the function, and is no fault then', async () => {
    const transaction = await postgres.database.transaction();
    await transaction.raw('ALTER FUNCTION pg_control_system() RENAME TO not_there');
    const identity = await readDatabaseIdentity(transaction).finally(() => transaction.rollback());
    expect(identity).to.equal(undefined);
  });

  it('is asked in vain of a connection that is lost, which is a fault', async () => {
    const lost = connectDatabase({
      url: 'postgres://nobody:none@127.0.0.1:1/none',
      poolMax: 1,
      applicationName: 'test',
    });
    const fault: unknown = await readDatabaseIdentity(lost).catch((error: unknown) => error);
    await lost.destroy();
    expect(String(fault)).to.match(/ECONNREFUSED/);
  });

  it('is not known where the role may not ask, and is no fault then', async () => {
    await postgres.database.raw('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    const transaction = await postgres.database.transaction();
    await transaction.raw('CREATE ROLE narrow_for_identity');
    await transaction.raw('SET LOCAL ROLE narrow_for_identity');
    const identity = await readDatabaseIdentity(transaction).finally(() => transaction.rollback());
    expect(identity).to.equal(undefined);
  });
});

describe('which database this is, asked every second of a Postgres that does not tell', () => {
  const postgres = useDatabase();
  /** How often Postgres was asked, and has logged an error. */
  let refusals = 0;

  before(async () => {
    await postgres.database.raw('ALTER FUNCTION pg_control_system() RENAME TO not_there');
    postgres.database.on('query', ({ sql }: { sql: string }) => {
      if (sql.includes('pg_control_system()')) refusals += 1;
    });
  });
  beforeEach(() => {
    refusals = 0;
  });

  const askOfWorker = (nowMs?: () => number) => {
    const known = createKnownDatabase(postgres.database, nowMs);
    return async () => {
      await known.ask();
      return known.identity();
    };
  };

  it('is asked again after a minute', async () => {
    let nowMs = 0;
    const ask = askOfWorker(() => nowMs);
    for (nowMs of [0, 1_000, 59_999]) expect(await ask()).to.equal(undefined);
    expect(refusals).to.equal(1);
    nowMs = 60_000;
    expect(await ask()).to.equal(undefined);
    expect(refusals).to.equal(2);
  });

  for (const [who, createAsk] of [
    ['a worker', () => askOfWorker()],
    ['an API, which asks whether Postgres takes writes as well', () => createStorageQuestion(postgres.database)],
  ] as const) {
    it(`is asked once and not with every question of ${who}`, async () => {
      const ask = createAsk();
      for (let time = 0; time < 3; time += 1) expect(await ask()).to.equal(undefined);
      expect(refusals).to.equal(1);
    });
  }

  it('is not asked by a lane, which asks after each fault whether Postgres takes writes, and no more', async () => {
    await createWriteQuestion(postgres.database)();
    expect(refusals).to.equal(0);
  });
});
