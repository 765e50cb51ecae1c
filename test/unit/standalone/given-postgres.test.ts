import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { readServerFacts } from '../../../shared/database/server-facts.js';
import { checkGivenPostgres, judgePostgres } from '../../../shared/standalone/given-postgres.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

const handbook = readFileSync(new URL('../../../shared/manage/README.md', import.meta.url), 'utf8');
const [handbookQuery = ''] = /^SELECT [^`]* FROM pg_locks [^`]*/m.exec(handbook) ?? [];

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

  it('tells of another version what the tests ran on', () => {
    expect(judge({ version: '15.20', major: 15, minor: 20 }).text).to.equal(
      '15.20, database x on 127.0.0.1:1 (DATABASE_URL); the tests ran on 18, not on this version',
    );
  });

  it('is "bad" of one that is too old to be asked all, for its age', async () => {
    const { ordersOtherwise, ...told } = { ...facts, version: '14.20', major: 14, minor: 20 };
    const raw = (sql: string) =>
      sql.includes('datcollversion')
        ? Promise.reject(new Error('column "datcollversion" does not exist'))
        : Promise.resolve({ rows: [told] });
    const found = await readServerFacts({ raw } as unknown as Database);
    expect(found).to.deep.equal({ ...told, ordersOtherwise });
    expect(judge(found).text).to.contain('14.20').and.contain('is too old');
  });

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

  describe('whose questions functions of ours answer', () => {
    const name = `name-to-quote-${String(process.pid)}`;
    let url: string;
    let database: Database;
    beforeEach(async () => {
      // A name that SQL must quote.
      await own.database.raw('CREATE DATABASE ??', [name]);
      url = Object.assign(new URL(own.url), { pathname: `/${name}` }).href;
      await own.database.raw('ALTER DATABASE ?? SET search_path = public, pg_catalog', [name]);
      // On by default only up to 18.
      await own.database.raw('ALTER DATABASE ?? SET jit = on', [name]);
      database = connectForTest(url, { poolMax: 1 });
    });
    afterEach(async () => {
      await database.destroy();
      await own.database.raw('DROP DATABASE ??', [name]);
    });

    it('is "note" of one that compiles queries, until it has done what that says', async () => {
      // The Postgres of the tests cannot compile any.
      await database.raw(`CREATE FUNCTION public.pg_jit_available() RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
      const found = await checkGivenPostgres(url);
      expect(found.verdict).to.equal('note');
      const [, remedy = expect.fail(found.text)] =
        /; jit is on: .*\. (ALTER DATABASE .* SET jit = off)/.exec(found.text) ?? [];
      await database.raw(remedy);
      expect((await checkGivenPostgres(url)).text).to.not.include('jit');
    });

    it('is "bad" of one that is too old, and asks it nothing that it would not know', async () => {
      await database.raw(`CREATE FUNCTION public.current_setting(asked text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        RETURN CASE asked WHEN 'server_version' THEN '10.23' WHEN 'server_version_num' THEN '100023'
          ELSE pg_catalog.current_setting(asked) END;
      END $$`);
      await database.raw(`CREATE FUNCTION public.pg_jit_available() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        RAISE undefined_function;
      END $$`);
      const { verdict, text } = await checkGivenPostgres(url);
      expect(verdict).to.equal('bad');
      expect(text).to.match(/^10\.23, .* is too old: 15 or newer is needed\.$/);
    });
  });

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

describe('the check of a Postgres that is given, by a role without a right', () => {
  const own = useDatabase();
  let role: string;
  let url: string;
  beforeEach(async () => {
    role = `role_of_${new URL(own.url).pathname.slice(1)}`;
    await own.database.raw(`CREATE ROLE ?? LOGIN PASSWORD 'secret'`, [role]);
    url = Object.assign(new URL(own.url), { username: role, password: 'secret' }).href;
  });
  afterEach(async () => {
    await own.database.raw('DROP ROLE ??', [role]);
  });

  const said = async () => (await checkGivenPostgres(url)).text;
  const pidOf = async (session: Database) => {
    const { rows } = await session.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
    return rows[0]?.pid;
  };
  const foundByHand = async () => {
    const asking = connectForTest(url, { poolMax: 1, applicationName: 'psql' });
    const { rows } = await asking.raw<{ rows: { pid: number }[] }>(handbookQuery);
    await asking.destroy();
    // It also locks the indexes of a table that it writes.
    return [...new Set(rows.map(({ pid }) => pid))];
  };

  for (const [what, lock, told] of [
    ['a table', 'LOCK TABLE api_keys', 'api_keys (AccessExclusiveLock)'],
    ['a row', 'SELECT FROM stock FOR UPDATE', 'stock (RowShareLock)'],
    ['what it writes', 'UPDATE levels SET quantity = 7', 'levels (RowExclusiveLock)'],
  ] as const) {
    it(`is "note" while another session locks ${what}, and names it, as the handbook's query does`, async () => {
      await own.database.transaction(async (foreign) => {
        await foreign.raw(lock);
        const pid = await pidOf(foreign);
        expect(await checkGivenPostgres(url)).to.include({ verdict: 'note' });
        expect(await said()).to.contain(`; session ${pid} test locks ${told}: `);
        expect(await foundByHand()).to.deep.equal([pid]);
      });
      expect(await said()).to.not.contain(' locks ');
    });
  }

  it('names a session that waits for its lock, since all others wait behind it', async () => {
    await own.database.transaction(async (reader) => {
      await reader.raw('SELECT FROM stock');
      const alters = own.database.transaction((foreign) => foreign.raw('LOCK TABLE stock'));
      const found = async () => {
        const pids = await foundByHand();
        return pids.length > 0 && pids;
      };
      const [pid] = await until(found, { deadlineMs: 5_000, what: 'the lock to be waited for' });
      expect(pid).to.not.equal(await pidOf(reader));
      expect(await said()).to.contain(`; session ${pid} test locks stock (AccessExclusiveLock): `);
      await reader.rollback();
      await alters;
    });
  });

  it('names no session of a copy of the database, whose tables have the same numbers', async () => {
    const copy = await createTestDatabase();
    const other = connectForTest(copy.url, { poolMax: 1 });
    await other.transaction(async (foreign) => {
      await foreign.raw('LOCK TABLE stock');
      expect(await said()).to.not.contain(' locks ');
    });
    await other.destroy();
    await copy.drop();
  });

  it('names no session that only reads, waits to write, is ours, or locks for a moment at a time', async () => {
    const ours = connectForTest(own.url, { poolMax: 1, applicationName: 'raw-materials-worker' });
    let isOver = false;
    const busy = async () => {
      while (!isOver) await own.database.transaction((passing) => passing.raw('UPDATE shops SET name = name'));
    };
    const passing = busy();
    await own.database.transaction(async (reader) => {
      await reader.raw('SELECT FROM stock');
      await ours.transaction(async (worker) => {
        await worker.raw('LOCK TABLE levels');
        const waits = own.database.transaction((writer) => writer.raw('UPDATE levels SET quantity = 7'));
        const text = await said();
        await worker.commit();
        await waits;
        expect(text).to.not.contain(' locks ');
      });
    });
    isOver = true;
    await passing;
    await ours.destroy();
  });
});
