import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { findShop } from '../../../shared/database/shops.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { openManagedShop } from './run-manage.js';
import type { Cli } from './run-manage.js';

const tokenKey = randomBytes(32).toString('hex');

describe('npm run manage', () => {
  let database: Database;
  let cli: Cli;
  let shopId: string;
  let close: () => Promise<void>;

  before(async () => {
    ({ database, cli, shopId, close } = await openManagedShop({ PLATFORM_TOKEN_KEY: tokenKey }));
  });
  after(() => close());

  describe('shops', () => {
    it('create answers the shop: Enhanced, negative inventory not allowed, unless said otherwise', async () => {
      const plain = await cli.answer<{ id: number }>(['shops', 'create', '--name', 'A "shop"']);
      const nothing = { defaultLocationId: null, rateLimitPoints: null, platform: null };
      const wanted = { id: plain.id, name: 'A "shop"', plan: 'enhanced', allowNegativeInventory: false, ...nothing };
      expect(plain).to.deep.equal(wanted);
      expect(await findShop(database, plain.id)).to.deep.equal(wanted);
      const options = ['--plan', 'basic', '--allow-negative', 'true', '--rate-limit', '9'];
      const other = await cli.answer(['shops', 'create', '--name', 'B', ...options]);
      expect(other).to.include({ plan: 'basic', allowNegativeInventory: true, rateLimitPoints: 9 });
    });

    it('set changes what is given and nothing else, and --no-… takes it back', async () => {
      const set = (...options: string[]) => cli.answer<object>(['shops', 'set', shopId, ...options]);
      const before = await set('--name', 'Shop');
      expect(await set('--default-location', '70001')).to.deep.equal({ ...before, defaultLocationId: '70001' });
      const limited = { ...before, defaultLocationId: '70001', rateLimitPoints: 5 };
      expect(await set('--rate-limit', '5')).to.deep.equal(limited);
      expect(await set('--no-rate-limit', '--no-default-location')).to.deep.equal(before);
    });

    it('set stores the name, the plan and whether a level may go below zero', async () => {
      const { id } = await cli.answer<{ id: number }>(['shops', 'create', '--name', 'Plain']);
      const options = ['--name', 'Other', '--plan', 'basic', '--allow-negative', 'true'];
      const changed = await cli.answer<object>(['shops', 'set', String(id), ...options]);
      expect(changed).to.include({ name: 'Other', plan: 'basic', allowNegativeInventory: true });
      expect(await findShop(database, id)).to.deep.equal(changed);
    });

    it('set refuses a location that the shop does not have, and an unknown shop', async () => {
      const unknown = await cli.refusal(['shops', 'set', shopId, '--plan', 'basic', '--default-location', 'nowhere']);
      expect(unknown).to.equal('The shop has no location nowhere. Add it first: locations add.');
      expect(await findShop(database, Number(shopId))).to.have.property('plan', 'enhanced');
      expect(await cli.refusal(['shops', 'set', '999', '--plan', 'basic'])).to.equal('There is no shop 999.');
    });

    it('seal a platform token from stdin or the environment for their shop, and never show it', async () => {
      const connect = ['shops', 'create', '--name', 'P', '--platform-domain', 'p.myshopify.com'];
      const token = 'token-from-stdin';
      const created = await cli.run([...connect, '--platform-token-stdin', '--json'], {}, `${token}\n`);
      const { id, platform } = JSON.parse(created.stdout) as { id: number; platform: unknown };
      expect(platform).to.deep.equal({ domain: 'p.myshopify.com' });
      expect(created.stdout + created.stderr).to.not.contain(token);
      expect(await openedToken(id)).to.equal(token);
      await cli.answer(['shops', 'set', String(id), '--platform-domain', 'q.myshopify.com'], {
        PLATFORM_TOKEN: 'other',
      });
      expect(await openedToken(id)).to.equal('other');
      await cli.answer(['shops', 'set', String(id), '--platform-token-stdin'], {}, 'third');
      expect(await openedToken(id)).to.equal('third');
      expect((await findShop(database, id))?.platform?.domain).to.equal('q.myshopify.com');
      expect(await cli.answer(['shops', 'set', String(id), '--no-platform'])).to.have.property('platform', null);
    });

    for (const [what, ...meanwhile] of [
      ['connected to another platform', '--platform-domain', 'after.myshopify.com'],
      ['disconnected', '--no-platform'],
    ] as const) {
      it(`set refuses a token alone for a shop that is ${what} before it is read`, async () => {
        const connect = ['shops', 'create', '--name', 'M', '--platform-domain', 'before.myshopify.com'];
        const { id } = await cli.answer<{ id: number }>([...connect, '--platform-token-stdin'], {}, 'first');
        let left: object | undefined;
        const pasted = async function* () {
          await cli.answer(['shops', 'set', String(id), ...meanwhile], { PLATFORM_TOKEN: 'second' });
          left = await findShop(database, id);
          yield 'third';
        };
        const set = ['shops', 'set', String(id), '--name', 'N', '--platform-token-stdin'];
        expect(await cli.refusal(set, {}, pasted())).to.equal(
          `Shop ${id} is not connected to before.myshopify.com any more, whose token this is; nothing was changed.`,
        );
        expect(await findShop(database, id)).to.deep.equal(left);
      });
    }

    it('set refuses a token alone for a shop that another session connects elsewhere while it is stored', async () => {
      const connect = ['shops', 'create', '--name', 'M', '--platform-domain', 'before.myshopify.com'];
      const { id } = await cli.answer<{ id: number }>([...connect, '--platform-token-stdin'], {}, 'first');
      const { refusal } = await database.transaction(async (other) => {
        await other('shops').where({ id }).update({ platform_domain: 'after.myshopify.com' });
        const started = { refusal: cli.refusal(['shops', 'set', String(id), '--platform-token-stdin'], {}, 'second') };
        await untilWaiting(database, 1);
        return started;
      });
      expect(await refusal).to.equal(
        `Shop ${id} is not connected to before.myshopify.com any more, whose token this is; nothing was changed.`,
      );
      expect((await findShop(database, id))?.platform?.domain).to.equal('after.myshopify.com');
      expect(await openedToken(id)).to.equal('first');
    });

    it('list shows the domain of a platform, and no token, sealed or not', async () => {
      const connect = ['shops', 'create', '--name', 'L', '--platform-domain', 'l.myshopify.com'];
      const { id } = await cli.answer<{ id: number }>([...connect, '--platform-token-stdin'], {}, 'token');
      const { shops } = await cli.answer<{ shops: { id: number; platform: object | null }[] }>(['shops', 'list']);
      expect(shops.find((shop) => shop.id === id)?.platform).to.deep.equal({ domain: 'l.myshopify.com' });
    });

    it('create takes a token from stdin without the line end of any system', async () => {
      const connect = ['shops', 'create', '--name', 'T', '--platform-domain', 't.myshopify.com'];
      for (const [token, end] of Object.entries({ unix: '\n', windows: '\r\n', none: '' })) {
        const args = [...connect, '--platform-token-stdin'];
        const { id } = await cli.answer<{ id: number }>(args, {}, `${token}${end}`);
        expect(await openedToken(id)).to.equal(token);
      }
    });

    it('set refuses what is no token on stdin, a whole file too, with a sentence', async () => {
      const connect = ['shops', 'set', shopId, '--platform-domain', 'p.myshopify.com', '--platform-token-stdin'];
      for (const input of ['two words', 'x'.repeat(256), 'x'.repeat(200_000)]) {
        expect(await cli.refusal(connect, {}, input)).to.match(/^The platform token must be .* visible ASCII.*\.$/);
      }
      expect((await findShop(database, Number(shopId)))?.platform).to.equal(null);
    });

    it('set does not wait for the end of a stdin that has none', async () => {
      const endless = function* () {
        for (;;) yield 'x'.repeat(1_024);
      };
      const connect = ['shops', 'set', shopId, '--platform-domain', 'p.myshopify.com', '--platform-token-stdin'];
      expect(await cli.refusal(connect, {}, endless())).to.match(/^The platform token must be/);
    });

    const platforms: [string, string[], Record<string, string>, RegExp][] = [
      ['a domain without its token', ['--platform-domain', 'p.myshopify.com'], {}, /needs its token/],
      [
        'no key to seal with',
        ['--platform-domain', 'p.myshopify.com'],
        { PLATFORM_TOKEN_KEY: '' },
        /PLATFORM_TOKEN_KEY is not set/,
      ],
      ['an empty token', ['--platform-domain', 'p.myshopify.com', '--platform-token-stdin'], {}, /visible ASCII/],
    ];
    for (const [name, options, env, wanted] of platforms) {
      it(`create refuses ${name}, and leaves no shop behind`, async () => {
        expect(await cli.refusal(['shops', 'create', '--name', `refused ${name}`, ...options], env)).to.match(wanted);
        const { shops } = await cli.answer<{ shops: { name: string }[] }>(['shops', 'list']);
        expect(shops.map((shop) => shop.name)).to.not.include(`refused ${name}`);
      });
    }

    it('set refuses a token for a shop that has no domain yet', async () => {
      expect(await cli.refusal(['shops', 'set', shopId, '--platform-token-stdin'], {}, 'token')).to.equal(
        'A platform token needs its --platform-domain.',
      );
    });

    async function openedToken(id: number) {
      const sealed = (await findShop(database, id))?.platform?.tokenSealed ?? Buffer.alloc(0);
      return createTokenCipher(tokenKey).open(sealed, id);
    }
  });
});
