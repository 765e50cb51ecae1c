import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { pruneOperations } from '../../../shared/database/prune-operations.js';
import { OpenCommit, settledTransaction } from '../../../shared/database/settled-transaction.js';
import { connectForTest } from '../../support/database/database.js';
import { openPassage } from '../../support/database/open-passage.js';
import { holdCommits } from '../../support/database/held-commits.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

/** What becomes of a COMMIT on its way, and of who asks for it then. */
type Fate = 'passes' | 'answer lost' | 'lost' | 'answer lost, and nobody to ask' | 'connection lost';

describe('a transaction whose COMMIT meets a broken connection', () => {
  let testDatabase: TestDatabase;
  let direct: Database;
  let through: Database;
  let passage: Awaited<ReturnType<typeof openPassage>>;
  let fate: Fate;
  let isStruck: boolean;
  /** Runs before the question is passed on whether the transaction is under way; with how often that was asked. */
  let beforeAsked: (times: number) => Promise<void>;
  let askedCount: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    direct = connectForTest(testDatabase.url, { poolMax: 1 });
    await direct.raw('CREATE TABLE done (what text)');
    passage = await openPassage(testDatabase.url, pass);
    through = connectForTest(passage.url);
  });
  after(async () => {
    await through.destroy();
    passage.close();
    await direct.destroy();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    beforeAsked = () => Promise.resolve();
    await direct.raw('TRUNCATE done');
  });

  const pass: Parameters<typeof openPassage>[1] = ({ client, server, end }) => {
    if (isStruck && fate === 'answer lost, and nobody to ask') end();
    let isLost = false;
    client.on('data', (bytes) => {
      const isStatusAsked = bytes.includes('pg_xact_status');
      if (fate !== 'passes' && bytes.includes('COMMIT')) isLost = isStruck = true;
      if (isLost && fate === 'lost') end();
      else if (isLost && fate === 'connection lost') server.write(bytes, end);
      else if (isStatusAsked) void beforeAsked((askedCount += 1)).then(() => server.write(bytes));
      else server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (isLost) end();
      else client.write(bytes);
    });
  };

  async function run(what: Fate): Promise<unknown> {
    fate = what;
    isStruck = false;
    askedCount = 0;
    const write = async (transaction: Database) => {
      await transaction.raw('INSERT INTO done VALUES (?)', [what]);
      return 'its result';
    };
    // Where somebody can be asked, how soon is for no test to say.
    const settledMsMax = what === 'answer lost, and nobody to ask' ? 1_000 : 60_000;
    return settledTransaction(through, write, { settledMsMax }).catch((error: unknown) => error);
  }
  const written = async () => (await direct.raw<{ rows: unknown[] }>('SELECT what FROM done')).rows.length;

  it('has its result where nothing breaks', async () => {
    expect(await run('passes')).to.equal('its result');
    expect(await written()).to.equal(1);
  });

  it('leaves a row that goes with the others of its age', async () => {
    for (let left = 5; left > 0; left -= 1) await run('passes');
    const rows = async () => (await direct.raw<{ rows: unknown[] }>('SELECT op_id FROM operations')).rows.length;
    expect(await rows()).to.be.at.least(5);
    await pruneOperations(direct, { keptMs: -60_000, batchSize: 1_000 });
    expect(await rows()).to.equal(0);
  });

  it('has its result where only the answer was lost', async () => {
    expect(await run('answer lost')).to.equal('its result');
    expect(isStruck).to.equal(true);
    expect(await written()).to.equal(1);
  });

  it('has failed, and left nothing, where it was lost itself', async () => {
    expect(await run('lost'))
      .to.be.an('error')
      .that.is.not.instanceOf(OpenCommit);
    expect(isStruck).to.equal(true);
    expect(await written()).to.equal(0);
  });

  it('has its result where it is under way at first, and ends between two questions', async () => {
    const holder = connectForTest(testDatabase.url);
    const letEnd = await holdCommits(holder, 'done');
    beforeAsked = async (times) => {
      if (times !== 2) return;
      await letEnd();
      await until(async () => (await written()) === 1, { deadlineMs: 10_000, what: 'the transaction to end' });
    };
    try {
      expect(await run('connection lost')).to.equal('its result');
      expect(askedCount).to.equal(2);
    } finally {
      if (askedCount < 2) await letEnd();
      await holder.raw('DROP FUNCTION wait_for_test CASCADE');
      await holder.destroy();
    }
  });

  it('is open where nobody can be asked', async () => {
    expect(await run('answer lost, and nobody to ask')).to.be.instanceOf(OpenCommit);
  });

  it('has failed as it did where it never came to its COMMIT', async () => {
    fate = 'passes';
    const fault = new Error('of the work');
    const ended = settledTransaction(through, () => Promise.reject(fault)).catch((error: unknown) => error);
    expect(await ended).to.equal(fault);
  });
});
