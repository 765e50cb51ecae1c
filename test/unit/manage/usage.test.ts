import { expect } from 'chai';
import { openManagedShop, runManage, startManage } from './run-manage.js';
import type { Cli } from './run-manage.js';

describe('npm run manage', () => {
  let databaseUrl: string;
  let cli: Cli;
  let shopId: string;
  let close: () => Promise<void>;

  before(async () => {
    ({ databaseUrl, cli, shopId, close } = await openManagedShop());
  });
  after(() => close());

  describe('on the command line', () => {
    const wrong: string[][] = [
      ['shops', 'create'],
      ['shops', 'create', '--name', ''],
      ['shops', 'create', '--name', '  '],
      ['shops', 'create', '--name', 'x'.repeat(256)],
      ['shops', 'create', '--name', 'half a pair: \ud800'],
      ['shops', 'set', '0', '--name', 'x'],
      ['shops', 'create', '--name', 'x', '--plan', 'gold'],
      ['shops', 'create', '--name', 'x', '--rate-limit', '1.5'],
      ['shops', 'create', '--name', 'x', '--allow-negative', 'yes'],
      ['shops', 'create', '--name', 'x', '--platform-token', 'secret'],
      ['shops', 'set', '1', '--no-platform', '--platform-domain', 'x.myshopify.com', '--platform-token-stdin'],
      ['shops', 'set', '1', '--no-default-location', '--default-location', '7'],
      ['shops', 'set', '1', '--rate-limit', '5', '--no-rate-limit'],
      ['keys', 'issue', '--shop', '1', '--label', 'x'],
      ['keys', 'issue', '--shop', '1', '--label', 'x', '--scope', 'read', '--expires', 'tomorrow'],
      // JavaScript would make 2 March of it, and the key would outlive what was meant.
      ['keys', 'issue', '--shop', '1', '--label', 'x', '--scope', 'read', '--expires', '2100-02-30'],
      ['keys', 'issue', '--shop', '1', '--label', 'x', '--scope', 'read', '--expires', '2099-04-31T12:00Z'],
      ['keys', 'rotate', '--shop', '1', 'abc', '--expires', '2099-01-31', '--no-expires'],
      ['keys', 'issue', '--shop', '1', '--label', 'x', '--scope', 'read', '--expires', '2020-01-01'],
      ['keys', 'rotate', '--shop', '1', 'abc', '--expires', '2020-01-01'],
      ['shops', 'set', '1'],
      ['shops', 'set', '1', '--platform-domain', 'evil.example.com'],
      ['shops', 'create', '--name', 'x', '--platform-domain', 'http://127.0.0.1:80'],
      ['shops', 'create', '--name', 'x', '--platform-token-stdin'],
      ['materials', 'list', '--shop', '1', '--page-size', '1001'],
      ['materials', 'list', '--shop', '1', '--page', '0'],
      ['materials', 'list', '--shop', '1', '--search', 'half a pair: \ud800'],
      ['materials', 'list', '--shop', '1', '--sort-by', 'weight'],
      ['materials', 'create', '--shop', '1', '--product-name', 'x', '--unit-cost', '1e3'],
      ['materials', 'create', '--shop', '1', '--product-name', ''],
      ['materials', 'import', '--shop', '1', 'materials.xlsx'],
      ['verify', 'everything'],
      ['orders', 'list'],
    ];
    for (const args of wrong) {
      it(`wrong usage ends with 64 and says what is wrong: ${args.join(' ').slice(0, 80)}`, async () => {
        // Nobody answers there: no database is asked.
        const { code, stdout, stderr } = await cli.run(args, { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' });
        expect({ code, stdout }).to.deep.equal({ code: 64, stdout: '' });
        expect(stderr).to.match(/^error: /);
      });
    }

    for (const [args, message] of [
      [['shops', 'set', '1', '--json'], 'nothing to change was given'],
      [['--json', 'orders'], "unknown option '--json'"],
      [['shops', 'create', '--json'], "required option '--name <name>' not specified"],
      [['help', 'nothing', '--json'], 'No command is named; --help lists them.'],
    ] as const) {
      it(`wrong usage with --json is one document of it: ${args.join(' ')}`, async () => {
        const { code, stdout } = await cli.run([...args]);
        expect({ code, stdout }).to.deep.equal({ code: 64, stdout: `${JSON.stringify({ error: { message } })}\n` });
      });
    }

    it('wrong usage of a process of its own ends likewise', async () => {
      const { code, stdout, stderr } = await runManage(['orders', 'list']);
      expect({ code, stdout }).to.deep.equal({ code: 64, stdout: '' });
      expect(stderr).to.match(/^error: unknown command 'orders'/);
    });

    it('a reader that went away before the answer, as of "| head", gets no stack trace', async () => {
      for (const args of [['shops', 'list'], ['shops', 'list', '--json'], ['--help']]) {
        const { child, ended } = startManage(args, { DATABASE_URL: databaseUrl });
        child.stdout?.destroy();
        const { code, stderr } = await ended;
        expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
      }
    });

    it('--help ends with 0', async () => {
      const { code, stdout } = await cli.run(['shops', 'create', '--help']);
      expect(code).to.equal(0);
      expect(stdout)
        .to.contain('--platform-token-stdin')
        .and.match(/--name <name> .*\(required\)/)
        .and.match(/--rate-limit <requests> .*in place of\s+RATE_LIMIT_POINTS/);
    });

    it('--help is no document, also with --json, since nothing is wrong', async () => {
      const help = ['shops', 'create', '--help'];
      expect(await cli.run([...help, '--json'])).to.deep.equal(await cli.run(help));
    });

    it('--help names what is read from the environment', async () => {
      const { stdout } = await cli.run(['--help']);
      expect(stdout).to.contain('\nEnvironment:\n  DATABASE_URL ').and.contain('\n  PLATFORM_TOKEN ');
    });

    it('--help of an import says when its materials show, and with what time', async () => {
      const { stdout } = await cli.run(['materials', 'import', '--help']);
      expect(stdout.replaceAll('\n', ' '))
        .to.contain('show at the end, with the time of the start')
        .and.contain('whole list');
    });

    it('without --json prints tables for people', async () => {
      const { code, stdout } = await cli.run(['locations', 'list', '--shop', shopId]);
      expect(code).to.equal(0);
      expect(stdout.split('\n').slice(0, 2)).to.deep.equal(['id     name', '70001  70001']);
    });

    it('a database that is away is one clear sentence, and 69', async () => {
      const away = { DATABASE_URL: 'postgres://u:p4ss@127.0.0.1:1/x' };
      const { code, stdout, stderr } = await cli.run(['shops', 'list'], away);
      expect({ code, stdout }).to.deep.equal({ code: 69, stdout: '' });
      expect(stderr)
        .to.match(/^The database could not be reached: .*ECONNREFUSED/m)
        .and.not.contain('p4ss');
      const { stdout: document } = await cli.run(['shops', 'list', '--json'], away);
      expect(JSON.parse(document)).to.deep.equal({ error: { message: stderr.trim() } });
    });

    // With 1, a gate that runs `verify` would report differences where a password was changed.
    it('a database that refuses the login is one clear sentence, and 69', async () => {
      const refusing = (change: (url: URL) => void) => {
        const url = new URL(databaseUrl);
        change(url);
        return cli.run(['verify'], { DATABASE_URL: url.href });
      };
      const wrong = await refusing((url) => (url.password = 'wr0ng'));
      expect(wrong).to.deep.include({ code: 69, stdout: '' });
      expect(wrong.stderr).to.match(/^The database refuses us: password authentication failed for user "\w+"\.\n$/);
      const gone = await refusing((url) => (url.pathname = '/not_there'));
      const stderr = 'The database refuses us: database "not_there" does not exist.\n';
      expect(gone).to.deep.equal({ code: 69, stdout: '', stderr });
    });

    it('an address that is none of Postgres ends with 78 and says so', async () => {
      const bad = { DATABASE_URL: 'u:p4ss@127.0.0.1:1/x' };
      const { code, stdout, stderr } = await runManage(['shops', 'list', '--json'], bad);
      expect(code).to.equal(78);
      expect(stderr).to.contain('must be an address that begins with postgres://').and.not.contain('p4ss');
      expect(JSON.parse(stdout)).to.deep.equal({ error: { message: stderr.trim() } });
      expect(await runManage(['shops', 'list'], bad)).to.deep.equal({ code, stdout: '', stderr });
    });

    it('a key of platform tokens that is none ends with 78 and says so, whether or not a command needs it', async () => {
      const bad = { DATABASE_URL: databaseUrl, PLATFORM_TOKEN_KEY: '5ecret' };
      const needing = ['shops', 'set', shopId, '--platform-domain', 'p.myshopify.com', '--platform-token-stdin'];
      for (const args of [needing, ['platform', 'sync'], ['shops', 'list']]) {
        const { code, stdout, stderr } = await runManage([...args, '--json'], bad, 'token');
        expect(code, stderr).to.equal(78);
        expect(stderr).to.contain('PLATFORM_TOKEN_KEY (its value').and.contain('must be 32 random bytes');
        expect(stderr).not.to.contain('5ecret');
        expect(JSON.parse(stdout)).to.deep.equal({ error: { message: stderr.trim() } });
      }
    });

    it('a database without schema says what to run', async () => {
      const url = new URL(databaseUrl);
      url.pathname = '/template1';
      const { code, stderr } = await cli.run(['shops', 'list'], { DATABASE_URL: url.href });
      expect([code, stderr.trim()]).to.deep.equal([
        69,
        'The database does not have the schema of this version. Run: npm run migrate',
      ]);
    });
  });
});
