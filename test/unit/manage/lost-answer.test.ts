import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { releaseSync, takeSync } from '../../../shared/database/platform-syncs.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';
import { manyVariants, startGatedPlatform } from '../mirror/gated-platform.js';
import { openManagedShop, startManage } from './run-manage.js';
import type { ManagedShop, Run } from './run-manage.js';

/** A file of Linux that takes nothing, as a full disk. */
const fullDisk = '/dev/full';

if (existsSync(fullDisk)) {
  describe('npm run manage, whose answer cannot be written', () => {
    let managed: ManagedShop;
    let folder: Awaited<ReturnType<typeof temporaryFolder>>;
    let full: number;
    before(async () => {
      managed = await openManagedShop({ PLATFORM_TOKEN_KEY: 'ab'.repeat(32) });
      folder = await temporaryFolder();
      full = openSync(fullDisk, 'w');
    });
    after(async () => {
      closeSync(full);
      await folder.remove();
      await managed.close();
    });

    const env = () => ({ DATABASE_URL: managed.databaseUrl, PLATFORM_TOKEN_KEY: 'ab'.repeat(32) });
    const runUnheard = (args: string[]): Promise<Run> => startManage(args, env(), '', { stdout: full }).ended;

    for (const args of [
      ['verify', '--json'],
      ['platform', 'sync', '--json'],
      ['shops', 'list'],
    ]) {
      it(`has failed, though it found nothing wrong: ${args.join(' ')}`, async () => {
        const { code, stderr } = await runUnheard(args);
        expect(code, stderr).to.equal(1);
        expect(stderr).to.match(/^The answer could not be written: ENOSPC/m);
      });
    }

    it('says what it has changed, so that nobody does it again', async () => {
      const { shopId } = managed;
      const path = join(folder.path, 'a.csv');
      await writeFile(path, 'productName\nWax\n');
      const issued = await managed.cli.answer<{ id: string }>([
        ...['keys', 'issue', '--shop', shopId, '--label', 'till', '--scope', 'read'],
      ]);
      const changes: [string[], RegExp][] = [
        [['shops', 'create', '--name', 'Other'], /^Shop \d+ was created; /m],
        [['shops', 'set', shopId, '--name', 'Renamed'], new RegExp(`^Shop ${shopId} was changed; `, 'm')],
        [['locations', 'add', '--shop', shopId, '--id', '9', '--name', 'Attic'], /^The location 9 was added; /m],
        [['materials', 'create', '--shop', shopId, '--product-name', 'Oil'], /^VMAT-VAR-\S+ was created; /m],
        [
          ['materials', 'import', '--shop', shopId, path],
          /^It was done, .*: 1 material imported, with \d levels?, in /m,
        ],
        [['keys', 'revoke', '--shop', shopId, issued.id], new RegExp(`^The key ${issued.id} was revoked; `, 'm')],
      ];
      for (const [args, said] of changes) {
        const { code, stderr } = await runUnheard(args);
        expect({ code, said: said.test(stderr) }, `${args.join(' ')}: ${stderr}`).to.deep.equal({
          code: 1,
          said: true,
        });
      }
    });

    it('names the command that ends the key which nobody has seen', async () => {
      const { shopId, cli } = managed;
      const { stderr } = await runUnheard(['keys', 'issue', '--shop', shopId, '--label', 'till', '--scope', 'read']);
      const [, command = ''] = /End it: (keys revoke .*)$/m.exec(stderr) ?? [];
      expect(await cli.run(command.split(' ')), command).to.include({ code: 0, stderr: '' });
    });

    it('of keys rotate names the command that ends the new key, and says for how long the old one works', async () => {
      const { shopId, cli } = managed;
      for (const overlap of ['24h', '0m']) {
        const issue = ['keys', 'issue', '--shop', shopId, '--label', `rotated ${overlap}`, '--scope', 'read'];
        const old = await cli.answer<{ id: string }>(issue);
        const { code, stderr } = await runUnheard(['keys', 'rotate', '--shop', shopId, old.id, '--overlap', overlap]);
        const { keys } = await cli.answer<{ keys: { id: string; label: string; expiresAt: string }[] }>([
          ...['keys', 'list', '--shop', shopId],
        ]);
        const rotated = keys.filter(({ label }) => label === `rotated ${overlap}`);
        const made = rotated.find(({ id }) => id !== old.id)?.id ?? 'none';
        const end = rotated.find(({ id }) => id === old.id)?.expiresAt ?? 'none';
        const state = overlap === '0m' ? 'does not work any more' : `works until ${end}`;
        const said = [
          `The key ${made} was made, and could not be shown. End it: keys revoke --shop ${shopId} ${made}`,
          `The old one, ${old.id}, ${state}; keys issue makes another.`,
        ];
        expect({ code, said: stderr.trimEnd().split('\n').slice(-2) }).to.deep.equal({ code: 1, said });
      }
    });

    it('says how many materials that are gone platform sync has removed, which no later run tells', async () => {
      const { database, shopId, cli } = managed;
      const [all, fewer] = [await startGatedPlatform(manyVariants(3)), await startGatedPlatform(manyVariants(1))];
      try {
        const loopback = { PLATFORM_TOKEN_KEY: platformTokenKey, PLATFORM_ALLOW_LOOPBACK: 'true' };
        const args = ['platform', 'sync', '--shop', shopId, '--remove-gone'];
        await connectPlatform(database, Number(shopId), all.url);
        await cli.answer(args, loopback);
        await connectPlatform(database, Number(shopId), fewer.url);
        const { code, stderr } = await startManage(args, { ...env(), ...loopback }, '', { stdout: full }).ended;
        expect(code, stderr).to.equal(1);
        const removed = `2 materials of shop ${shopId}`;
        expect(stderr).to.contain(`Gone from the platform, and removed: ${removed}; only this could not be shown.\n`);
      } finally {
        await all.stop();
        await fewer.stop();
      }
    });

    it('goes on to its answer where only what it says on the way cannot be written', async () => {
      const { database, shopId } = managed;
      await connectPlatform(database, Number(shopId), 'http://127.0.0.1:1');
      const hold = { shopId: Number(shopId), token: randomUUID() };
      await takeSync(database, hold, { domain: 'http://127.0.0.1:1', everyMs: 0 });
      const args = ['platform', 'sync', '--shop', shopId, '--json'];
      const { ended } = startManage(args, env(), '', { stderr: full });
      await untilRefused();
      // It has said that it waits.
      await releaseSync(database, hold, { problem: null, abandon: true });
      const { stdout } = await ended;
      expect(JSON.parse(stdout)).to.have.nested.property('shops[0].status', 'failed');
    });

    /** Resolves when a command has ended its first transaction. */
    const untilRefused = () =>
      until(
        async () => {
          const { rows } = await managed.database.raw<{ rows: object[] }>(
            `SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'raw-materials-manage'
               AND query ILIKE 'COMMIT%'`,
          );
          return rows.length > 0;
        },
        { deadlineMs: 20_000, what: 'the hold to be refused' },
      );
  });
}
