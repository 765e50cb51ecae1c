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
});
