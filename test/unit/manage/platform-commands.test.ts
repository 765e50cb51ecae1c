import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { takeSync } from '../../../shared/database/platform-syncs.js';
import { createShop, updateShop } from '../../../shared/database/shops.js';
import { standInAccessToken } from '../../../shared/standalone/stand-in-platform.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { until } from '../../support/time/until.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { createCli } from './run-manage.js';
import type { Cli } from './run-manage.js';
import { readMirror } from '../mirror/fixtures.js';
import { manyVariants, startGatedPlatform } from '../mirror/gated-platform.js';
import type { GatedPlatform } from '../mirror/gated-platform.js';

const entry = fileURLToPath(new URL('../../../dist/shared/manage/main.js', import.meta.url));

interface Count {
  seen: number;
  added: number;
  changed: number;
}

interface Answer {
  shops: {
    shopId: number;
    status: string;
    resumed: boolean;
    problem: { code: string; message: string } | null;
    sync: { pages: number; locations: Count; variants: Count; syncedAt: string | null };
    goneCount: number;
    removedCount: number;
  }[];
}

interface Listed {
  shops: {
    id: number;
    sync: { syncedAt: string | null; problem: { code: string; message: string; at: string } | null } | null;
  }[];
}

describe('npm run manage -- platform sync', () => {
  const postgres = useDatabase();
  const variants = manyVariants(520);
  let platform: GatedPlatform;
  let env: { DATABASE_URL: string } & Record<string, string>;
  let cli: Cli;

  before(async () => {
    platform = await startGatedPlatform(variants);
    env = {
      DATABASE_URL: postgres.url,
      PLATFORM_TOKEN_KEY: platformTokenKey,
      PLATFORM_ALLOW_LOOPBACK: 'true',
    };
    cli = createCli(env);
  });
  after(() => platform.stop());

  async function connectedShop(token = standInAccessToken): Promise<number> {
    const { id } = await createShop(postgres.database, { name: 'CLI', plan: 'enhanced' });
    await connectPlatform(postgres.database, id, platform.url, token);
    return id;
  }

  const sync = async (shopId: number, ...more: string[]): Promise<Answer> => {
    const { code, stdout, stderr } = await cli.run(['platform', 'sync', '--shop', String(shopId), '--json', ...more]);
    // A run that takes long says now and then how far it is.
    const told = stderr.replace(/^Shop \d+: \d+ locations, \d+ variants, \d+ pages\n/gm, '');
    expect({ code, told }).to.deep.equal({ code: 0, told: '' });
    return JSON.parse(stdout) as Answer;
  };
  const listed = async (shopId: number) =>
    (await cli.answer<Listed>(['shops', 'list'])).shops.find(({ id }) => id === shopId)?.sync;

  it('brings a shop in, says what it did, and shops list says when', async () => {
    const shopId = await connectedShop();
    expect(await listed(shopId)).to.equal(null);
    const { shops } = await sync(shopId);
    expect(shops).to.have.lengthOf(1);
    expect(shops[0]).to.deep.include({ shopId, status: 'complete', resumed: false, problem: null, goneCount: 0 });
    expect(shops[0]?.sync.locations).to.deep.equal({ seen: 3, added: 3, changed: 0 });
    expect(shops[0]?.sync.variants).to.deep.equal({ seen: 520, added: 520, changed: 0 });
    const again = await sync(shopId);
    expect(again.shops[0]?.sync.variants).to.deep.equal({ seen: 520, added: 0, changed: 0 });
    expect(await listed(shopId)).to.deep.equal({
      syncedAt: again.shops[0]?.sync.syncedAt,
      isRunning: false,
      problem: null,
    });
    await connectPlatform(postgres.database, shopId, 'https://else.myshopify.com', standInAccessToken);
    expect(await listed(shopId), 'of another platform, which was never tried').to.equal(null);
  });

  it('killed with −9 half way, it goes on there when run again: complete, nothing twice, nothing asked twice', async () => {
    const shopId = await connectedShop();
    const before = platform.requests;
    // One page of locations and eleven of variants: the seventh request is never answered.
    platform.shutAt(before + 7);
    const child = spawn(process.execPath, [entry, 'platform', 'sync', '--shop', String(shopId)], {
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], ...env },
      stdio: 'ignore',
    });
    const exited = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    await until(() => platform.requests >= before + 7, { what: 'the seventh request', deadlineMs: 20_000 });
    expect(child.kill('SIGKILL')).to.equal(true);
    expect(await exited).to.equal('SIGKILL');
    expect((await readMirror(postgres.database, shopId)).materials).to.have.lengthOf(250);

    platform.open();
    const { code, stdout, stderr } = await cli.run(['platform', 'sync', '--shop', String(shopId), '--json']);
    expect(code, stderr).to.equal(0);
    expect(stderr).to.match(/^Shop \d+: another process has the run, or was killed in it; waiting\n/);
    const [report] = (JSON.parse(stdout) as Answer).shops;
    expect(report).to.include({ status: 'complete', resumed: true });
    expect(report?.sync.variants).to.deep.equal({ seen: 520, added: 520, changed: 0 });
    expect(platform.requests).to.equal(before + 7 + 6);
    const { materials } = await readMirror(postgres.database, shopId);
    expect(materials.map(({ id }) => id)).to.deep.equal(variants.map(({ id }) => id));
    for (const { version } of materials) expect(version).to.equal(1);
  });

  it('without --shop, takes every shop that has a platform, and ends with 1 where one is not complete', async () => {
    const [good, refused] = [await connectedShop(), await connectedShop('another-token')];
    const without = await createShop(postgres.database, { name: 'None', plan: 'basic' });
    const { code, stdout } = await cli.run(['platform', 'sync', '--json']);
    expect(code).to.equal(1);
    const refusal = "The commerce platform refused the shop's credentials, or they lack a scope that is needed.";
    const byShop = new Map((JSON.parse(stdout) as Answer).shops.map((report) => [report.shopId, report]));
    expect(byShop.get(good)).to.include({ status: 'complete' });
    expect(byShop.get(refused)).to.deep.include({
      status: 'failed',
      problem: { code: 'unauthorized', message: refusal },
    });
    expect(byShop.has(without.id)).to.equal(false);
    expect((await listed(refused))?.problem).to.include({ code: 'unauthorized' });
    const people = await cli.run(['platform', 'sync', '--shop', String(refused)]);
    expect(people.stdout).to.match(/^Shop \d+: failed: The commerce platform refused/);
    expect((await cli.run(['shops', 'list'])).stdout)
      .to.match(/last problem/)
      .and.match(/refused the shop's credentials/);
  });

  it('takes each shop as it is connected when its turn comes, not as it was when the command began', async () => {
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
    const [first, moved, left] = [await connectedShop(), await connectedShop(), await connectedShop()];
    const theirs = manyVariants(3).map((variant) => ({ ...variant, id: `9${variant.id}` }));
    const other = await startGatedPlatform(theirs);
    try {
      const holder = await postgres.database.transaction();
      await holder.raw('SELECT 1 FROM shops WHERE id = ? FOR UPDATE', [first]);
      const command = cli.run(['platform', 'sync', '--remove-gone', '--json']);
      await untilWaiting(postgres.database, 1);
      await connectPlatform(postgres.database, moved, other.url);
      await updateShop(postgres.database, left, { platform: null });
      // As a worker does at its next look.
      await sync(moved).finally(() => holder.commit());
      const { code, stdout } = await command;
      const { shops } = JSON.parse(stdout) as Answer;
      expect({ code, shops: shops.map(({ shopId, status }) => [shopId, status]) }).to.deep.equal({
        code: 0,
        shops: [
          [first, 'complete'],
          [moved, 'complete'],
        ],
      });
      const { materials } = await readMirror(postgres.database, moved);
      expect(materials.map(({ id }) => id)).to.deep.equal(theirs.map(({ id }) => id));
      expect((await readMirror(postgres.database, left)).materials).to.deep.equal([]);
    } finally {
      await other.stop();
    }
  });

  it('keeps what its platform lists no more, and removes it only where told to', async () => {
    const shopId = await connectedShop();
    await sync(shopId);
    const fewer = await startGatedPlatform(variants.slice(0, 3));
    try {
      await connectPlatform(postgres.database, shopId, fewer.url);
      expect((await sync(shopId)).shops[0]).to.include({ status: 'complete', goneCount: 517, removedCount: 0 });
      expect((await readMirror(postgres.database, shopId)).materials).to.have.lengthOf(520);
      expect((await sync(shopId, '--remove-gone')).shops[0]).to.include({ goneCount: 0, removedCount: 517 });
      expect((await readMirror(postgres.database, shopId)).materials).to.have.lengthOf(3);
    } finally {
      await fewer.stop();
    }
  });

  it('a shop of which another session holds a material is told as such, and keeps no other out', async () => {
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
    const [held, free] = [await connectedShop(), await connectedShop()];
    await sync(held);
    await postgres.database.transaction(async (holder) => {
      await holder.raw('SELECT 1 FROM materials WHERE shop_id = ? LIMIT 1 FOR UPDATE', [held]);
      const { code, stdout, stderr } = await cli.run(['platform', 'sync', '--json']);
      expect(code).to.equal(75);
      expect(stderr, 'how far it is').to.match(/^1 of 2 shops$/m);
      const reports = new Map((JSON.parse(stdout) as Answer).shops.map((report) => [report.shopId, report]));
      expect(reports.get(held)).to.include({ status: 'failed' }).and.have.nested.property('problem.code', 'held-up');
      expect(reports.get(free)).to.include({ status: 'complete' });
    });
    // It waits for the lease of the one before, whose page was given up.
    const { stdout } = await cli.run(['platform', 'sync', '--shop', String(held), '--json']);
    expect((JSON.parse(stdout) as Answer).shops[0]).to.include({ status: 'complete', resumed: true });
  });

  it('a shop whose own row another session holds is not waited for without end: 75, and run again it is brought in', async () => {
    const shopId = await connectedShop();
    const ofShop = ['platform', 'sync', '--shop', String(shopId), '--json'];
    const holder = await postgres.database.transaction();
    try {
      await holder.raw('SELECT 1 FROM shops WHERE id = ? FOR UPDATE', [shopId]);
      const { code, stdout } = await cli.run(ofShop);
      const { shops } = JSON.parse(stdout) as Answer;
      expect(shops[0]?.problem?.message).to.match(/another session holds a row of it\. Run it again/);
      expect({ code, problem: shops[0]?.problem?.code }).to.deep.equal({ code: 75, problem: 'held-up' });
    } finally {
      await holder.rollback();
    }
    await sync(shopId);
  });

  it('a shop that another process is bringing in is waited for, and then told as busy: 75', async () => {
    const shopId = await connectedShop();
    const hold = { shopId, token: randomUUID() };
    expect(await takeSync(postgres.database, hold, { domain: platform.url, everyMs: 0 })).to.not.equal(undefined);
    // In place of its renewals, which this machine might be too slow for.
    await postgres.database.raw(`
      CREATE FUNCTION stay_held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER stay_held BEFORE UPDATE ON platform_syncs FOR EACH ROW EXECUTE FUNCTION stay_held()`);
    try {
      const { code, stdout, stderr } = await cli.run(['platform', 'sync', '--shop', String(shopId), '--json']);
      expect(stderr).to.match(/^Shop \d+: another process has the run, or was killed in it; waiting$/m);
      const message = 'Another process is bringing in this shop right now.';
      const [report] = (JSON.parse(stdout) as Answer).shops;
      expect(report).to.deep.include({ status: 'busy', problem: { code: 'busy', message }, sync: null });
      expect(code).to.equal(75);
    } finally {
      await postgres.database.raw('DROP TRIGGER stay_held ON platform_syncs; DROP FUNCTION stay_held()');
    }
  });

  it('ends with 1, not 75, where besides a shop that others hold another one fails', async () => {
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
    const held = await connectedShop();
    await connectedShop('another-token');
    await postgres.database.transaction(async (holder) => {
      await holder.raw('SELECT 1 FROM shops WHERE id = ? FOR UPDATE', [held]);
      const { code, stdout } = await cli.run(['platform', 'sync', '--json']);
      const codes = (JSON.parse(stdout) as Answer).shops.map(({ problem }) => problem?.code);
      expect({ code, codes }).to.deep.equal({ code: 1, codes: ['held-up', 'unauthorized'] });
    });
  });

  it('refuses an unknown shop, one without a platform, and to work without the key', async () => {
    const shopId = await connectedShop();
    const { id: without } = await createShop(postgres.database, { name: 'None', plan: 'basic' });
    const refusal = (id: number, more?: Record<string, string>) =>
      cli.refusal(['platform', 'sync', '--shop', String(id)], more);
    expect(await refusal(999_999)).to.equal('There is no shop 999999.');
    expect(await refusal(without)).to.match(/is not connected to a commerce platform/);
    expect(await refusal(shopId, { PLATFORM_TOKEN_KEY: '' })).to.match(/PLATFORM_TOKEN_KEY is not set.* Set it to /);
  });

  it('calls no server on loopback unless that is allowed, and says what allows it', async () => {
    const shopId = await connectedShop();
    const before = platform.requests;
    const { stdout } = await cli.run(['platform', 'sync', '--shop', String(shopId), '--json'], {
      PLATFORM_ALLOW_LOOPBACK: '',
    });
    const problem = (JSON.parse(stdout) as Answer).shops[0]?.problem;
    expect(problem?.code).to.equal('not-callable');
    expect(problem?.message).to.match(/^Its platform may not be called: .*PLATFORM_ALLOW_LOOPBACK=true/);
    expect(platform.requests).to.equal(before);
  });

  it('never shows the platform token', async () => {
    const shopId = await connectedShop();
    const { stdout, stderr } = await cli.run(['platform', 'sync', '--shop', String(shopId)]);
    expect(stdout + stderr).to.not.contain(standInAccessToken);
    expect(stdout).to.match(/^Shop \d+: complete\n/);
  });
});
