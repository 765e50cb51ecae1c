import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { databaseAddress, redisAddress } from '../../../shared/runtime/process-settings.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import type { SettingsDeclaration } from '../../../shared/runtime/settings.js';
import { runShipped, shipped } from '../../support/processes/run-shipped.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const declared = {
  PORT: { type: 'integer', default: 3000, minimum: 0, maximum: 65535, description: 'Where to listen.' },
  OFFSET: { type: 'integer', description: 'Any whole number.' },
  RETRIES: { type: 'integer', minimum: 0, description: 'How often.' },
  DEBUG: { type: 'boolean', default: false, description: 'Say more.' },
  LOG_LEVEL: { type: 'string', enum: ['info', 'debug'], default: 'info', description: 'How much is logged.' },
  HOST: { type: 'string', default: '127.0.0.1', description: 'The address.' },
  TOKEN_KEY: {
    type: 'string',
    secret: true,
    check: (value) => (value.length === 4 ? undefined : 'must be 4 characters'),
    description: 'A key.',
  },
} as const satisfies SettingsDeclaration;

const mandatory = {
  DATABASE_URL: { type: 'string', required: true, secret: true, description: 'The Postgres database.' },
  SHARDS: { type: 'integer', required: true, minimum: 1, description: 'How many.' },
} as const satisfies SettingsDeclaration;

describe('settings', () => {
  const taken: [title: string, env: Record<string, string>, name: keyof typeof declared, value: unknown][] = [
    ['an absent variable has its default', {}, 'PORT', 3000],
    ['an empty string counts as absent', { PORT: '' }, 'PORT', 3000],
    ['an absent variable without a default is undefined', {}, 'OFFSET', undefined],
    ['zero is a value, not an absence', { PORT: '0' }, 'PORT', 0],
    ['the greatest number allowed is allowed', { PORT: '65535' }, 'PORT', 65535],
    ['a whole number may be negative', { OFFSET: '-7' }, 'OFFSET', -7],
    ['true is true', { DEBUG: 'true' }, 'DEBUG', true],
    ['false is false, although a string is truthy', { DEBUG: 'false' }, 'DEBUG', false],
    ['one of the choices is taken', { LOG_LEVEL: 'debug' }, 'LOG_LEVEL', 'debug'],
    ['a string is taken as it is, spaces included', { HOST: ' ::1 ' }, 'HOST', ' ::1 '],
    ['a string that passes its check is taken', { TOKEN_KEY: 'abcd' }, 'TOKEN_KEY', 'abcd'],
  ];
  for (const [title, env, name, value] of taken) {
    it(title, () => {
      const read = readSettings(declared, env);
      expect(read.ok && read.values[name]).to.equal(value);
      expect(read.ok).to.equal(true);
    });
  }

  const range = 'but must be a whole number from 0 to 65535. Where to listen.';
  const refused: [env: Record<string, string>, problem: string][] = [
    [{ PORT: '80x' }, `PORT is "80x", ${range}`],
    [{ PORT: ' 80' }, `PORT is " 80", ${range}`],
    [{ PORT: '0x50' }, `PORT is "0x50", ${range}`],
    [{ PORT: '8e1' }, `PORT is "8e1", ${range}`],
    [{ PORT: '80.5' }, `PORT is "80.5", ${range}`],
    [{ PORT: '-1' }, `PORT is "-1", ${range}`],
    [{ PORT: '65536' }, `PORT is "65536", ${range}`],
    [{ PORT: 'Infinity' }, `PORT is "Infinity", ${range}`],
    [{ OFFSET: '9007199254740993' }, 'OFFSET is "9007199254740993", but must be a whole number. Any whole number.'],
    [{ RETRIES: '-1' }, 'RETRIES is "-1", but must be a whole number from 0. How often.'],
    [{ RETRIES: 'NaN' }, 'RETRIES is "NaN", but must be a whole number from 0. How often.'],
    [{ DEBUG: 'yes' }, 'DEBUG is "yes", but must be true or false. Say more.'],
    [{ DEBUG: 'TRUE' }, 'DEBUG is "TRUE", but must be true or false. Say more.'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud", but must be one of info, debug. How much is logged.'],
    [{ TOKEN_KEY: 'hush!' }, 'TOKEN_KEY (its value is not shown) must be 4 characters. A key.'],
    [{ PORT: 'x'.repeat(5000) }, `PORT is "${'x'.repeat(80)}…", ${range}`],
  ];
  for (const [env, problem] of refused) {
    it(`is refused rather than guessed: ${problem.slice(0, 70)}`, () => {
      expect(readSettings(declared, env)).to.deep.equal({ ok: false, problems: [problem] });
    });
  }

  it('an address begins with its scheme and //, or the driver would ask another server', () => {
    for (const url of ['postgres://u:p@host/name', 'POSTGRESQL://host:5432/name', 'postgres:///name?host=/run/pg']) {
      expect(databaseAddress(url), url).to.equal(undefined);
    }
    for (const url of [
      ' postgres://host/name',
      'postgres:5432/name',
      'localhost:5432/name',
      'mysql://host/name',
      'x',
    ]) {
      expect(databaseAddress(url), url).to.match(/^must be an address that begins with postgres:\/\//);
    }
  });

  it('an address names certificate files that can be used, each looked at as what it is to be', async () => {
    const folder = await temporaryFolder();
    const path = join(folder.path, 'a file.pem');
    await writeFile(path, 'no certificate');
    const problemOf = (name: string, file: string) =>
      databaseAddress(`postgres://host/name?sslmode=disable&${name}=${encodeURIComponent(file)}`);
    // What is trusted may be any text, in which Node finds no certificate; the server's is refused then.
    expect(problemOf('sslrootcert', path)).to.equal(undefined);
    for (const [name, file, reason] of [
      ['sslrootcert', `${path}.not`, 'ENOENT'],
      ['sslrootcert', folder.path, 'EISDIR'],
      ['sslcert', path, 'error:'],
      ['sslkey', path, 'error:'],
    ] as const) {
      expect(problemOf(name, file)).to.match(
        new RegExp(`^names in ${name} the file ${file}, which cannot be used: ${reason}`),
      );
    }
    await folder.remove();
  });

  it('an address of Redis ends with a database as a number, or the driver would ask for another', () => {
    for (const url of ['redis://:p@host', 'rediss://host:6380/', 'redis://host/1', 'REDIS://host:6379/15?family=6']) {
      expect(redisAddress(url), url).to.equal(undefined);
    }
    for (const url of ['redis://host/one', 'redis://host/1st', 'redis://host/1/2', 'redis://host/-1']) {
      expect(redisAddress(url), url).to.match(/^must end with the number of a database, as \/1/);
    }
    expect(redisAddress('host:6379/1')).to.match(/^must be an address that begins with redis:\/\//);
  });

  it('every bad variable is listed at once, the missing ones too', () => {
    const read = readSettings({ ...declared, ...mandatory }, { PORT: 'a', DEBUG: 'b', SHARDS: '0', DATABASE_URL: '' });
    expect(read.ok ? [] : read.problems.map((problem) => problem.split(' ')[0])).to.have.members([
      'PORT',
      'DEBUG',
      'SHARDS',
      'DATABASE_URL',
    ]);
  });

  it('a missing variable is named with what is wanted', () => {
    const read = readSettings(mandatory, { SHARDS: '2' });
    expect(read).to.deep.equal({
      ok: false,
      problems: ['DATABASE_URL is missing, but must be set. The Postgres database.'],
    });
  });

  it('the values cannot be changed afterwards', () => {
    const read = readSettings(declared, {});
    expect(read.ok && Object.isFrozen(read.values)).to.equal(true);
  });

  it('variables that were not declared are not in the values', () => {
    const read = readSettings(declared, { HOME: '/root' });
    expect(read.ok && Object.keys(read.values)).to.have.members(Object.keys(declared));
  });

  it('the types of the values follow from the declaration', () => {
    const read = readSettings({ ...declared, ...mandatory }, { DATABASE_URL: 'postgres://', SHARDS: '1' });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    // This is checked by the compiler; each line fails `npm run check:types` if the derivation is lost.
    const port: number = read.values.PORT;
    const offset: number | undefined = read.values.OFFSET;
    const level: 'info' | 'debug' = read.values.LOG_LEVEL;
    const url: string = read.values.DATABASE_URL;
    // @ts-expect-error -- without a default and not required, it may be absent
    const notSure: number = read.values.OFFSET;
    expect([port, offset, level, url, notSure]).to.deep.equal([3000, undefined, 'info', 'postgres://', undefined]);
  });

  it('a process that cannot be configured prints every problem to stderr, no secret, and exits 78', async () => {
    const script = `
      import { settingsOrExit } from '${shipped('shared/runtime/settings.js')}';
      settingsOrExit({
        PORT: { type: 'integer', description: 'The port.' },
        KEY: { type: 'integer', secret: true, description: 'The key.' },
      }, process.env);
      console.log('went on');`;
    const { stderr, ...ended } = await runShipped(script, { env: { ...process.env, PORT: 'http', KEY: 'hush' } });
    expect(ended, stderr).to.deep.equal({ code: 78, signal: null, stdout: [] });
    expect(stderr).to.contain('PORT is "http"').and.to.contain('KEY (its value').and.not.to.contain('hush');
  });
});
