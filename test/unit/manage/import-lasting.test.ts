import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { connectForTest } from '../../support/database/database.js';
import { holdCommits } from '../../support/database/held-commits.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { ManagedShop } from './run-manage.js';

const soonMsMax = 30_000;

describe('npm run manage -- materials import, on a server that', () => {
  let managed: ManagedShop;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeEach(async () => {
    managed = await openManagedShop();
    folder = await temporaryFolder();
  });
  afterEach(async () => {
    await managed.close();
    await folder.remove();
  });

  const start = async (content: string) => {
    const path = join(folder.path, 'a.csv');
    await writeFile(path, content);
    return startManage(['materials', 'import', '--shop', managed.shopId, path], { DATABASE_URL: managed.databaseUrl });
  };
  const names = async () =>
    (await managed.database('materials').select<{ product_name: string }[]>('product_name')).map(
      ({ product_name }) => product_name,
    );

  it('ends transactions that are idle, or long, ends as on any other', async () => {
    for (const setting of ['idle_in_transaction_session_timeout', 'transaction_timeout']) {
      await managed.database.raw(`DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_settings WHERE name = '${setting}') THEN
          EXECUTE format('ALTER DATABASE %I SET ${setting} = ''1s''', current_database());
        END IF; END $$`);
    }
    // Checked to its end, for far longer, while the transaction is idle.
    const bad = await (await start(`productName,sku\n,S\n${'Wax,S\n'.repeat(150_000)}`)).ended;
    expect(bad).to.deep.include({
      code: 1,
      stderr: 'Nothing was imported.\nOne line is bad:\n  line 2: productName: Is required.\n',
    });
    await managed.database.raw(`
      CREATE FUNCTION last_for_test() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END $$;
      CREATE TRIGGER last_for_test AFTER INSERT ON materials FOR EACH STATEMENT EXECUTE FUNCTION last_for_test()`);
    const good = await (await start('productName\nWax\n')).ended;
    expect(good.stderr).to.equal('');
    expect(good.code).to.equal(0);
  });

  it('does not come to the end of the COMMIT says after a Ctrl-C that all may be in, and it is', async () => {
    const { database } = managed;
    const letEnd = await holdCommits(database, 'materials');
    const { child, ended } = await start('productName\nWax\n');
    await untilWaiting(database, 1);
    // As npm passes it on.
    child.kill('SIGINT');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    await letEnd();
    const said = 'SIGINT came while the import was being committed: it may be done. Look before you do it again.\n';
    expect({ code, stdout, stderr }).to.deep.equal({ code: 130, stdout: '', stderr: said });
    await until(async () => (await names()).length === 1, { deadlineMs: soonMsMax, what: 'its session to commit' });
  });

  it('rebuilds the search index after the commit, ends at a Ctrl-C, and says that all is in', async () => {
    const { database } = managed;
    const letCommit = await holdCommits(database, 'materials');
    const { child, ended } = await start('productName\nWax\n');
    await untilWaiting(database, 1);
    const other = connectForTest(managed.databaseUrl, { poolMax: 1 });
    const rebuilding = await other.transaction();
    const rebuilt = rebuilding.raw('REINDEX INDEX materials_search_idx').then(() => undefined);
    await untilWaiting(database, 2);
    await letCommit();
    await rebuilt;
    await untilWaiting(database, 1);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    await rebuilding.rollback();
    await other.destroy();
    expect({ code, names: await names() }, stderr).to.deep.equal({ code: 0, names: ['Wax'] });
    expect(stdout).to.match(/^1 material imported, /);
    expect(stderr).to.match(/^All of it is in, but the statistics were not refreshed: SIGINT\. /);
  });

  it('has stock whose material is gone names the line that has its id', async () => {
    const { database, shopId } = managed;
    expect((await (await start('id,productName\nVMAT-a,Wax\n')).ended).code).to.equal(0);
    await database.transaction(async (damage) => {
      await damage.raw(`SET LOCAL session_replication_role = replica`);
      await damage.raw('DELETE FROM materials WHERE shop_id = ? AND id = ?', [shopId, 'VMAT-a']);
    });
    const { code, stderr } = await (await start('id,productName\nVMAT-b,Wax\nVMAT-a,Wax\n')).ended;
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr:
        'Nothing was imported.\nOne line is bad:\n  line 3: id: The shop has a material VMAT-a already, or stock of it.\n',
    });
  });
});
