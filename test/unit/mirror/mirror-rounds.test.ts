import { expect } from 'chai';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import { createShop } from '../../../shared/database/shops.js';
import { standInAccessToken } from '../../../shared/standalone/stand-in-platform.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { startTestRedis } from '../../support/processes/servers.js';
import type { TestRedis } from '../../support/processes/servers.js';
import { startProcess, stopProcess } from '../../support/processes/service-process.js';
import type { Env, Proc } from '../../support/processes/service-process.js';
import { until } from '../../support/time/until.js';
import { readMirror } from './fixtures.js';
import { manyVariants, startGatedPlatform } from './gated-platform.js';
import type { GatedPlatform } from './gated-platform.js';

const deadlineMs = 30_000;

describe('the mirrors that workers keep', () => {
  const postgres = useDatabase();
  const workers: Proc[] = [];
  let redis: TestRedis;
  let platform: GatedPlatform;

  before(async () => {
    [redis, platform] = await Promise.all([startTestRedis(), startGatedPlatform(manyVariants(120))]);
  });
  afterEach(async () => {
    platform.open();
    await Promise.all(workers.splice(0).map(stopProcess));
    // Each test's shops are its own: the workers of the next must find none that is due.
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
  });
  after(async () => {
    await platform.stop();
    await redis.stop();
  });

  async function startWorker(changes: Env = {}): Promise<Proc> {
    const worker = await startProcess('worker', {
      PATH: process.env['PATH'],
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      PLATFORM_TOKEN_KEY: platformTokenKey,
      PLATFORM_ALLOW_LOOPBACK: 'true',
      ...changes,
    });
    workers.push(worker);
    return worker;
  }

  async function connectedShop(token = standInAccessToken): Promise<number> {
    const { id } = await createShop(postgres.database, { name: 'Round', plan: 'enhanced' });
    await connectPlatform(postgres.database, id, platform.url, token);
    return id;
  }

  const syncOf = async (shopId: number) => (await listSyncs(postgres.database)).get(shopId);
  const untilSynced = (shopId: number) =>
    until(async () => (await syncOf(shopId))?.syncedAt ?? undefined, {
      what: `shop ${shopId} to be synced`,
      deadlineMs,
    });

  it('two workers bring in each shop once, and one that is refused keeps no other out', async () => {
    const refused = await connectedShop('another-token');
    const shops = [await connectedShop(), await connectedShop()];
    const before = platform.requests;
    await Promise.all([startWorker(), startWorker()]);
    for (const shopId of shops) {
      await untilSynced(shopId);
      expect((await readMirror(postgres.database, shopId)).materials).to.have.lengthOf(120);
    }
    await until(async () => (await syncOf(refused))?.problem === 'unauthorized', { what: 'the refusal', deadlineMs });
    // A page of locations and three of variants for each, and the one refusal.
    expect(platform.requests - before).to.equal(2 * 4 + 1);
  });

  it('a look that finds as many shops as it may is followed by the next at once, not a minute later', async () => {
    // Of the hundred that a look finds, and of one more.
    for (let count = 0; count <= 100; count += 1) await connectedShop('another-token');
    const before = (await listSyncs(postgres.database)).size;
    await startWorker();
    const tried = async () => (await listSyncs(postgres.database)).size - before;
    await until(async () => (await tried()) === 101, { what: 'all to be tried', deadlineMs });
  });

  it('as many shops as a look finds, which all meet a fault of ours, keep no other out', async () => {
    const faulty: number[] = [];
    for (let count = 0; count < 100; count += 1) faulty.push(await connectedShop());
    const sound = await connectedShop();
    await postgres.database.raw(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''a fault''; END'`,
    );
    await postgres.database.raw(
      `CREATE TRIGGER refuse BEFORE INSERT ON platform_syncs
       FOR EACH ROW WHEN (NEW.shop_id <= ${Math.max(...faulty)}) EXECUTE FUNCTION refuse()`,
    );
    try {
      const worker = await startWorker();
      await untilSynced(sound);
      expect(worker.logs().filter((line) => line.includes('met a fault of ours'))).to.have.lengthOf(faulty.length);
    } finally {
      await postgres.database.raw('DROP FUNCTION refuse CASCADE');
    }
  });

  it('a shop whose row another session holds keeps no other out', async () => {
    const [held, free] = [await connectedShop(), await connectedShop()];
    const holder = await postgres.database.transaction();
    try {
      await holder.raw('SELECT 1 FROM shops WHERE id = ? FOR UPDATE', [held]);
      await startWorker();
      await untilSynced(free);
      expect(await syncOf(held)).to.equal(undefined);
    } finally {
      await holder.rollback();
    }
  });

  it('a worker that is stopped in the middle of a page gives it up, and the next goes on where it stood', async () => {
    const shopId = await connectedShop();
    platform.shutAt(platform.requests + 3);
    const before = platform.requests;
    const first = await startWorker();
    await until(() => platform.requests === before + 3, { what: 'the page that hangs', deadlineMs });
    // The page would keep it for longer than a worker has to end by itself.
    await stopProcess(workers.splice(workers.indexOf(first), 1)[0]!);
    expect(await syncOf(shopId)).to.include({ pages: 2, problem: null, isRunning: false, syncedAt: null });
    platform.open();
    await startWorker();
    await untilSynced(shopId);
    expect(platform.requests - before).to.equal(3 + 2);
    expect((await readMirror(postgres.database, shopId)).materials).to.have.lengthOf(120);
  });

  it('without the key a worker says so once, and calls nobody; with 0 minutes it does not even look', async () => {
    const shopId = await connectedShop();
    const before = platform.requests;
    const keyless = await startWorker({ PLATFORM_TOKEN_KEY: '' });
    const off = await startWorker({ PLATFORM_SYNC_EVERY_MINUTES: '0' });
    const about = (worker: Proc) => worker.logs().filter((line) => line.includes('platform'));
    await Promise.all(workers.splice(0).map(stopProcess));
    expect(about(keyless)).to.have.lengthOf(1);
    expect(about(keyless)[0]).to.match(/PLATFORM_TOKEN_KEY is not set/);
    expect(about(off)).to.deep.equal([]);
    expect(platform.requests).to.equal(before);
    expect(await syncOf(shopId)).to.equal(undefined);
  });

  it('no log line holds the platform token', async () => {
    const shopId = await connectedShop();
    const worker = await startWorker({ LOG_LEVEL: 'trace' });
    await untilSynced(shopId);
    await until(() => worker.logs().some((line) => line.includes('A platform was mirrored.')), {
      what: 'its line',
      deadlineMs,
    });
    expect(worker.logs().join('\n')).to.not.contain(standInAccessToken);
  });
});
