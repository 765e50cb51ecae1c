import { expect } from 'chai';
import { checkGivenPostgres, judgePostgres } from '../../../shared/standalone/given-postgres.js';
import { useDatabase } from '../../support/database/database.js';

describe('the judgement of a Postgres that is given', () => {
  const facts = {
    version: '18.6',
    major: 18,
    minor: 6,
    database: 'x',
    synchronousCommit: 'on',
    fsync: 'on',
    fullPageWrites: true,
    runsTriggers: true,
    readOnly: false,
    waitsForStandby: false,
    arrayNulls: true,
    encoding: 'UTF8',
    foldsCase: true,
    ordersOtherwise: false,
  };
  const judge = (changed: Partial<typeof facts>) =>
    judgePostgres({ ...facts, ...changed }, 'postgres://u@127.0.0.1:1/x');

  for (const [major, minor, verdict] of [
    [14, 20, 'bad'],
    [15, 20, 'note'],
    [18, 5, 'note'],
    [18, 6, 'good'],
    [18, 10, 'good'],
    [19, 8, 'note'],
  ] as const) {
    it(`is "${verdict}" of version ${major}.${minor}`, () => {
      expect(judge({ version: `${major}.${minor}`, major, minor })).to.include({ verdict });
    });
  }

  // A whole server has these settings, so no server can be asked to have them here.
  for (const changed of [{ fsync: 'off' }, { fullPageWrites: false }]) {
    it(`is "bad" of one that may lose what it has answered: ${JSON.stringify(changed)}`, () => {
      expect(judge(changed)).to.include({ verdict: 'bad' });
      expect(judge(changed).text).to.contain('may lose what it has answered');
    });
  }
});

describe('the check of a Postgres that is given', () => {
  const own = useDatabase();

  it('is "bad" where texts are ordered otherwise than when the indexes were built', async () => {
    await own.database.raw(`UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database()`);
    const changed = await checkGivenPostgres(own.url);
    await own.database.raw(`ALTER DATABASE ${new URL(own.url).pathname.slice(1)} REFRESH COLLATION VERSION`);
    expect(changed).to.include({ verdict: 'bad' });
    expect(changed.text).to.contain(' orders texts otherwise than its indexes, ').and.contain('REINDEX DATABASE');
    expect((await checkGivenPostgres(own.url)).verdict).to.not.equal('bad');
  });

  for (const [what, begin] of [
    ['that reads as of its beginning', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM shops'],
    ['that has written', 'SELECT pg_current_xact_id()'],
  ] as const) {
    it(`is "note" where a transaction ${what} stands while very many others end, and says whose it is`, async () => {
      const said = async () => (await checkGivenPostgres(own.url)).text;
      await own.database.transaction(async (old) => {
        await old.raw(begin);
        const { rows } = await old.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
        expect(await said()).to.not.contain('snapshot');
        await own.database.raw(
          'DO $$ BEGIN FOR i IN 1..100000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$',
        );
        // Looks no further back than the first one that has written, and is not to be taken for it.
        await own.database.transaction(async (later) => {
          await later.raw('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM shops');
          expect(await checkGivenPostgres(own.url)).to.include({ verdict: 'note' });
          expect(await said()).to.match(
            new RegExp(`; session ${rows[0]?.pid} test holds a snapshot \\d{6,} transactions`),
          );
        });
      });
      expect(await said()).to.not.contain('snapshot');
    });
  }
});
