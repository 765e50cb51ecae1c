import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { listSyncs, releaseSync, takeSync } from '../../../shared/database/platform-syncs.js';
import { createShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { openPassage } from '../../support/database/open-passage.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { until } from '../../support/time/until.js';
import { readMirror } from '../mirror/fixtures.js';
import { manyVariants, startGatedPlatform } from '../mirror/gated-platform.js';
import type { GatedPlatform } from '../mirror/gated-platform.js';
import { createCli, startManage } from './run-manage.js';

interface Document {
  error?: { message: string };
  shops: { shopId: number; status: string; removedCount: number }[];
}

const answersMsMax = 20_000;
const maybe = 'it may be done. Look before you do it again.';

describe('npm run manage -- platform sync --remove-gone, ended before its time', () => {
  const postgres = useDatabase();
  let fewer: GatedPlatform;
  let gated: GatedPlatform;
  /** Three of the first one's five variants are gone; the second one's platform is behind a gate. */
  let [first, second] = [0, 0];
  const env = () => ({
    DATABASE_URL: postgres.url,
    PLATFORM_TOKEN_KEY: platformTokenKey,
    PLATFORM_ALLOW_LOOPBACK: 'true',
  });
  before(async () => {
    fewer = await startGatedPlatform(manyVariants(2));
    gated = await startGatedPlatform(manyVariants(5));
  });
  after(async () => {
    await fewer.stop();
    await gated.stop();
  });
  beforeEach(async () => {
    gated.open();
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
    [first, second] = [await connectedShop(), await connectedShop()];
    await createCli(env()).answer(['platform', 'sync', '--shop', String(first)]);
    await connectPlatform(postgres.database, first, fewer.url);
  });

  async function connectedShop(): Promise<number> {
    const { id } = await createShop(postgres.database, { name: 'CLI', plan: 'enhanced' });
    await connectPlatform(postgres.database, id, gated.url);
    return id;
  }
  const start = (...more: string[]) => startManage(['platform', 'sync', '--remove-gone', ...more], env());
  const variantsLeft = async () => (await readMirror(postgres.database, first)).materials.length;
  const syncOf = async (shopId: number) => (await listSyncs(postgres.database)).get(shopId);

  /** Ends it while the second shop's second page is on its way. */
  async function endAtSecond(name: NodeJS.Signals, ...more: string[]) {
    const last = gated.requests + 2;
    gated.shutAt(last);
    const { child, ended } = start(...more);
    await until(() => gated.requests >= last, { what: 'the second request', deadlineMs: answersMsMax });
    child.kill(name);
    // npm passes on what the terminal has sent already.
    child.kill(name);
    return ended;
  }

  it('by a signal says what became of the shops, in the one document too, and the next run goes on at once', async () => {
    const { code, stdout, stderr } = await endAtSecond('SIGINT', '--json');
    const { error, shops } = JSON.parse(stdout) as Document;
    const message = error?.message.split('\n')[0];
    expect({ code, message }).to.deep.equal({ code: 130, message: `SIGINT ended the run in shop ${second}.` });
    expect(shops.map(({ shopId, status, removedCount }) => [shopId, status, removedCount])).to.deep.equal([
      [first, 'complete', 3],
      [second, 'interrupted', 0],
    ]);
    expect(stderr).to.contain(error?.message);
    expect(await syncOf(second)).to.include({ phase: 'variants', isRunning: false, problem: null });
  });

  it('by a signal says so on stderr for people, and nothing on stdout', async () => {
    const { code, stdout, stderr } = await endAtSecond('SIGTERM');
    expect({ code, stdout }).to.deep.equal({ code: 143, stdout: '' });
    expect(stderr).to.contain(`SIGTERM ended the run in shop ${second}.\n\nShop ${first}: complete\n`);
    expect(stderr).to.contain('Gone from the platform, and removed: 3\n');
  });

  it('by a signal while a shop is completed does not speak of the next one, which was never begun', async () => {
    const { ended } = await postgres.database.transaction(async (other) => {
      // One that is gone, so that the removal waits for it.
      await other.raw('SELECT 1 FROM materials WHERE shop_id = ? ORDER BY id DESC LIMIT 1 FOR UPDATE', [first]);
      const started = start();
      await untilWaiting(postgres.database, 1);
      started.child.kill('SIGINT');
      return started;
    });
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).to.deep.equal({ code: 130, stdout: '' });
    expect(stderr).to.contain(`SIGINT ended the run after shop ${first}.\n\nShop ${first}: complete\n`);
    expect(stderr).to.contain('Gone from the platform, and removed: 3\n');
    expect(await syncOf(second)).to.equal(undefined);
  });

  it('by a signal while another process has the shop does not wait for that one', async () => {
    const hold = { shopId: first, token: randomUUID() };
    await takeSync(postgres.database, hold, { domain: fewer.url, everyMs: 0 });
    const { child, ended } = start('--shop', String(first));
    let said = '';
    child.stderr?.on('data', (text: string) => (said += text));
    await until(() => said.includes('waiting'), { what: 'it to wait', deadlineMs: answersMsMax });
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    await releaseSync(postgres.database, hold, { problem: null, abandon: true });
    expect({ code, stdout }).to.deep.equal({ code: 130, stdout: '' });
    expect(stderr).to.contain(`SIGINT ended the run in shop ${first}.\n`);
    expect(await variantsLeft()).to.equal(5);
  });

  it('by a fault that nobody foresaw, says what was removed before it', async () => {
    await postgres.database.raw(`
      CREATE FUNCTION fail_for_test() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
      CREATE TRIGGER fail_for_test BEFORE INSERT ON locations
        FOR EACH ROW WHEN (NEW.shop_id = ${String(second)}) EXECUTE FUNCTION fail_for_test()`);
    const { code, stdout, stderr } = await start().ended;
    await postgres.database.raw('DROP FUNCTION fail_for_test CASCADE');
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.contain(`Shop ${first}: complete\n`).and.contain('Gone from the platform, and removed: 3\n');
    expect(stderr).to.contain('not today');
  });

  it('by a signal, in a COMMIT that is not answered, says that what is gone may have been removed', async () => {
    const link = await startBrokenLink(postgres.url, 'silent');
    const args = ['platform', 'sync', '--remove-gone', '--shop', String(first), '--json'];
    const { child, ended } = startManage(args, { ...env(), DATABASE_URL: link.url });
    await until(async () => (await variantsLeft()) === 2, { what: 'the COMMIT', deadlineMs: answersMsMax });
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended.finally(() => link.close());
    const message = `SIGTERM ended the run in shop ${first}, which waits for Postgres. If what is gone was being removed, ${maybe}`;
    expect({ code, said: JSON.parse(stdout) as unknown }).to.deep.equal({
      code: 143,
      said: { error: { message }, shops: [] },
    });
    expect(stderr).to.equal(`${message}\n`);
  });

  for (const isGone of [false, true]) {
    const title = isGone ? 'says that what is gone may have been removed' : 'asks what became of it, and goes on';
    it(`by a connection that is lost in its COMMIT, ${isGone ? 'with Postgres gone, ' : ''}${title}`, async () => {
      const link = await startBrokenLink(postgres.url, isGone ? 'gone' : 'cut');
      const cli = createCli({ ...env(), DATABASE_URL: link.url });
      const { code, stdout } = await cli
        .run(['platform', 'sync', '--remove-gone', '--json'])
        .finally(() => link.close());
      const { error, shops } = JSON.parse(stdout) as Document;
      expect(await variantsLeft()).to.equal(2);
      const told = shops.map(({ shopId, status, removedCount }) => [shopId, status, removedCount]);
      const message = `The database went away while what is gone was being removed: ${maybe} This ended the run in shop ${first}.`;
      expect({ code, message: error?.message, told }).to.deep.equal(
        isGone
          ? { code: 69, message, told: [] }
          : {
              code: 0,
              message: undefined,
              told: [
                [first, 'complete', 3],
                [second, 'complete', 0],
              ],
            },
      );
    });
  }
});

/**
 * A way to Postgres that loses the answer to the COMMIT of a removal. Whoever asked hears no more (`silent`), or is cut
 * off: from that connection alone, or from Postgres for good (`gone`).
 */
function startBrokenLink(databaseUrl: string, fate: 'silent' | 'cut' | 'gone') {
  let isLost = false;
  return openPassage(databaseUrl, ({ client, server, end }) => {
    if (isLost && fate === 'gone') return end();
    let isRemoving = false;
    let isCommitting = false;
    client.on('data', (bytes) => {
      isRemoving ||= bytes.includes('DELETE FROM platform_sightings');
      if (isRemoving && bytes.includes('COMMIT')) isLost = isCommitting = true;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!isCommitting) client.write(bytes);
      else if (fate !== 'silent') end();
    });
  });
}
