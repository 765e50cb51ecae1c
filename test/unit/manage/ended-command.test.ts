import { expect } from 'chai';
import { findKeyWithShop } from '../../../shared/database/api-keys.js';
import { until } from '../../support/time/until.js';
import { holdCommits } from '../../support/database/held-commits.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { ManagedShop } from './run-manage.js';

const soonMsMax = 20_000;

describe('npm run manage, ended while its change waits for another session', () => {
  let managed: ManagedShop;
  before(async () => (managed = await openManagedShop()));
  after(() => managed.close());

  const untilGone = () =>
    until(
      async () => {
        const { rows } = await managed.database.raw<{ rows: object[] }>(
          `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'raw-materials-manage'`,
        );
        return rows.length === 0;
      },
      { deadlineMs: soonMsMax, what: 'the session of the command to end' },
    );
  /** What the shop has that a command may change. */
  const state = async () => {
    const { database, shopId } = managed;
    return {
      shop: await database('shops').where({ id: shopId }).first<object>(),
      locations: await database('locations').where({ shop_id: shopId }).orderBy('id').pluck<string[]>('id'),
      keys: await database('api_keys').where({ shop_id: shopId }).pluck<string[]>('id'),
    };
  };

  for (const [name, ...args] of [
    ['shops set', '--plan', 'basic'],
    ['locations add', '--id', 'late', '--name', 'Late'],
    ['keys issue', '--scope', 'read', '--label', 'late'],
  ] as const) {
    it(`${name} changes nothing, also once that session lets it`, async () => {
      const { database, databaseUrl, shopId } = managed;
      const before = await state();
      const other = await database.transaction();
      await other('shops').where({ id: shopId }).forUpdate();
      const shop = name === 'shops set' ? [shopId] : ['--shop', shopId];
      const { child, ended } = startManage([...name.split(' '), ...shop, ...args], { DATABASE_URL: databaseUrl });
      await untilWaiting(database, 1);
      child.kill('SIGINT');
      const { code, stdout } = await ended;
      await other.rollback();
      await untilGone();
      expect(await state()).to.deep.equal(before);
      expect({ code, stdout }).to.deep.equal({ code: null, stdout: '' });
    });
  }

  /** Ends the command in its COMMIT, which then goes on. */
  const endInCommit = async (table: string, args: string[], signal: NodeJS.Signals, code: number) => {
    const { database, databaseUrl, shopId } = managed;
    const letEnd = await holdCommits(database, table);
    const { child, ended } = startManage([...args, '--shop', shopId], { DATABASE_URL: databaseUrl });
    await untilWaiting(database, 1);
    child.kill(signal);
    const run = await ended;
    await letEnd();
    await untilGone();
    await database.raw('DROP FUNCTION wait_for_test CASCADE');
    const message = `${signal} came while the change was being committed: it may be done. Look before you do it again.`;
    const stdout = args.includes('--json') ? `${JSON.stringify({ error: { message } })}\n` : '';
    expect(run).to.deep.equal({ code, stdout, stderr: `${message}\n` });
  };

  it('in the COMMIT says that the change may be done', async () => {
    await endInCommit('locations', ['locations', 'add', '--id', 'late', '--name', 'Late', '--json'], 'SIGINT', 130);
    expect((await state()).locations).to.include('late');
  });

  it('in the COMMIT, as its terminal closes, says so, and without --json nothing on stdout', async () => {
    await endInCommit('locations', ['locations', 'add', '--id', 'later', '--name', 'Later'], 'SIGHUP', 129);
    expect((await state()).locations).to.include('later');
  });

  it('in the COMMIT of a revocation says that it may be done', async () => {
    const { cli, database, shopId } = managed;
    const issue = ['keys', 'issue', '--shop', shopId, '--label', 'lost', '--scope', 'read'];
    const { id } = await cli.answer<{ id: string }>(issue);
    await endInCommit('api_keys', ['keys', 'revoke', id, '--json'], 'SIGTERM', 143);
    expect((await findKeyWithShop(database, id))?.revokedAt).to.be.instanceOf(Date);
  });
});
