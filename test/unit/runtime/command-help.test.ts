import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

/** Commands that take everything from the environment. With that of these tests, none could do anything. */
const entries = {
  'npm start': 'shared/standalone/main.js',
  'npm run api': 'api/main.js',
  'npm run worker': 'worker/main.js',
  'npm run migrate': 'shared/database/migrate.js',
  'npm run doctor': 'shared/standalone/doctor.js',
};

describe('a command that takes no arguments', () => {
  const run = (file: string, argument: string) =>
    spawnSync(process.execPath, [fileURLToPath(new URL(`../../../dist/${file}`, import.meta.url)), argument], {
      cwd: tmpdir(),
      env: { DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' },
      encoding: 'utf8',
      timeout: 30_000,
    });

  it('tells the bounds of each number beside its default', () => {
    const told = run(entries['npm run worker'], '--help').stdout;
    expect(told).to.match(/^ {2}WORKER_LANES .* \(2; 1 to 4\)$/m);
    expect(told).to.match(/^ {2}ADMIN_PORT .* \(0 to 65535\)$/m);
    expect(run(entries['npm run api'], '--help').stdout).to.match(/^ {2}DATABASE_POOL_MAX .* \(10; from 2\)$/m);
  });

  for (const [command, file] of Object.entries(entries)) {
    it(`tells with --help what it does and what it reads, and does nothing: ${command}`, () => {
      const { status, stdout, stderr } = run(file, '--help');
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
      expect(stdout).to.match(new RegExp(`^${command}\n[A-Z].*(?:\n.+)?\\.\n\nEnvironment:\n`));
      expect(stdout).to.match(/^ {2}DATABASE_URL {2,}\S/m);
    });

    it(`refuses any other, and does nothing: ${command}`, () => {
      const { status, stdout, stderr } = run(file, '--dry-run');
      expect({ status, stdout }).to.deep.equal({ status: 64, stdout: '' });
      expect(stderr).to.equal(
        `${command} takes no argument, so --dry-run would be ignored. ${command} -- --help tells more.\n`,
      );
    });
  }
});
