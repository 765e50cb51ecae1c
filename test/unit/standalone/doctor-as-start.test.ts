import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSettings } from '../../../shared/runtime/settings.js';
import { keepPlatformTokenKey } from '../../../shared/standalone/data-folder.js';
import { checksOf } from '../../../shared/standalone/doctor-checks.js';
import { bad } from '../../../shared/standalone/finding.js';
import type { Finding } from '../../../shared/standalone/finding.js';
import { preparePostgresFolder } from '../../../shared/standalone/postgres-folder.js';
import { startSettings } from '../../../shared/standalone/start-settings.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

describe('npm run doctor says NO in the words of npm start', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  async function found(name: string, env: NodeJS.ProcessEnv = {}): Promise<Finding | undefined> {
    const { PATH, XDG_CACHE_HOME, HOME } = process.env;
    const checks = checksOf({ PATH, XDG_CACHE_HOME, HOME, DATA_DIR: folder.path, ...env });
    return checks.find((check) => check.name === name)?.check();
  }

  const problemOf = (outcome: { ok: true } | { ok: false; problem: string }) => (outcome.ok ? '' : outcome.problem);

  it('to a database that was moved and is lost', async () => {
    const dataDir = join(folder.path, 'postgres');
    await writeFile(`${dataDir}.moved`, `${join(folder.path, 'elsewhere')}\n`);
    const binaries = { initdb: '/nowhere', postgres: '/nowhere' };
    const deps = { dataDir, user: undefined, binaries, env: {}, say: () => undefined };
    const problem = problemOf(await preparePostgresFolder(deps));
    expect(problem).to.include('Restore it, or remove that file to begin anew.');
    expect(await found('Postgres')).to.deep.equal(bad(problem));
  });

  it('to a file of the key of platform tokens in which there is none, or which cannot be read', async () => {
    const path = join(folder.path, 'platform-token-key');
    await mkdir(path);
    const unread = problemOf(keepPlatformTokenKey(folder.path));
    expect(unread).to.include(`The data folder ${folder.path} cannot be used: `);
    expect(await found('Token key')).to.deep.equal(bad(unread));
    const other = join(folder.path, 'other');
    await mkdir(other);
    await writeFile(join(other, 'platform-token-key'), 'no key\n');
    const problem = problemOf(keepPlatformTokenKey(other));
    expect(problem).to.include(`What is in ${join(other, 'platform-token-key')} must be 32 random bytes`);
    expect(await found('Token key', { DATA_DIR: other })).to.deep.equal(bad(problem));
  });

  it('to a PLATFORM_TOKEN_KEY that is no key', async () => {
    const env = { PLATFORM_TOKEN_KEY: 'no-key' };
    const read = readSettings(startSettings, env);
    const problem = read.ok ? '' : read.problems.join('\n');
    expect(problem)
      .to.match(/^PLATFORM_TOKEN_KEY /)
      .and.not.to.include('no-key');
    expect(await found('Token key', env)).to.deep.equal(bad(problem));
  });

  it('and to none of the keys that npm start takes, or makes, which the doctor leaves to it', async () => {
    const path = join(folder.path, 'platform-token-key');
    const of = async (env?: NodeJS.ProcessEnv) => {
      const { verdict, text } = (await found('Token key', env)) ?? {};
      return `${verdict}: ${text}`;
    };
    expect(await of()).to.equal(`good: ${path}, which npm start will make`);
    expect(await readdir(folder.path)).to.not.include('platform-token-key');
    keepPlatformTokenKey(folder.path);
    expect(await of()).to.equal(`good: ${path}`);
    // It is not read then.
    await writeFile(path, 'no key\n');
    expect(await of({ PLATFORM_TOKEN_KEY: 'ab'.repeat(32) })).to.equal('good: that of PLATFORM_TOKEN_KEY');
  });
});
