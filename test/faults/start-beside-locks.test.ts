import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { seedDemo } from '../../shared/standalone/demo-data.js';
import { untilWaiting } from '../support/database/waiting-sessions.js';
import { countCases } from '../support/long-run/count-cases.js';
import { useGivenServers } from '../support/processes/given-servers.js';
import { refusal } from '../support/processes/npm-start-refusal.js';
import { npmStart } from '../support/processes/npm-start.js';
import type { Started } from '../support/processes/npm-start.js';
import { until } from '../support/time/until.js';

/** Sooner than it gives up by itself. */
const endMsMax = 3_000;

describe('T19: npm start beside a session that holds what it needs', () => {
  countCases('T19', 'starts beside locks');
  const given = useGivenServers();
  let shopId: number;
  before(async () => {
    // As an earlier start leaves it, whose stand-in had another port.
    const before = { dataFolder: given.folder, platformUrl: 'http://127.0.0.1:1', platformTokenKey: 'ab'.repeat(32) };
    ({ shopId } = await seedDemo({ databaseUrl: given.databaseUrl, ...before }));
  });

  const start = () => npmStart(given.folder, { DATABASE_URL: given.databaseUrl, REDIS_URL: given.redisUrl });

  /** Does the work while another session, in a transaction, has done this. */
  const beside = (statement: string, bindings: number[], work: () => Promise<void>) =>
    given.database.transaction(async (other: Database) => {
      await other.raw(statement, bindings);
      await work();
    });

  async function endsOnInterrupt(started: Started): Promise<void> {
    await untilWaiting(given.database, 1);
    started.kill('SIGINT');
    let end: unknown;
    void started.exited.then((how) => (end = how));
    try {
      await until(() => end !== undefined, {
        deadlineMs: endMsMax,
        what: () => `its end; it said:\n${started.output()}`,
      });
    } finally {
      // A second one ends it in any case.
      started.kill('SIGINT');
      await started.exited;
    }
    expect(end).to.deep.equal({ code: 0, signal: null });
  }

  const rows = 'SELECT 1 FROM shops WHERE id = ? FOR UPDATE';
  const table = 'LOCK TABLE shops';

  it('gives up where it is the row of the demo’s shop, and says so', () =>
    beside(rows, [shopId], async () => {
      const { code, output } = await refusal(start());
      expect(output).to.match(/The demo data cannot be written: .*\nAnother session .*: end it, then start again/s);
      expect(code).to.equal(78);
    }));

  it('gives up where it is a table that it reads, and says so', () =>
    beside(table, [], async () => {
      const { code, output } = await refusal(start());
      expect(output).to.match(/The demo data cannot be written: .*\nAnother session .*: end it, then start again/s);
      expect(code).to.equal(78);
    }));

  it('ends at once on a Ctrl-C while it waits for that row', () =>
    beside(rows, [shopId], () => endsOnInterrupt(start())));

  it('ends at once on a Ctrl-C while it waits for another that migrates', () =>
    beside('SELECT pg_advisory_xact_lock(7261977)', [], () => endsOnInterrupt(start())));

  it('ends at once on a Ctrl-C while its migration waits for a table', async () => {
    // One that can be run again.
    await given.database.raw(`DELETE FROM knex_migrations WHERE name = '0007-cheaper-id-form'`);
    await beside('SELECT 1 FROM materials', [], () => endsOnInterrupt(start()));
  });
});
