import { execFile } from 'node:child_process';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { cacheFolder } from '../../../shared/standalone/cache-folder.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const nobody = { uid: 65_534, gid: 65_534, name: 'nobody' };
/** A user without an entry in the password file. */
const nobodyKnown = 54_321;

describe('the folder of programs that are fetched or copied', () => {
  let folder: { path: string; remove(): Promise<void> };
  let own: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    own = join(folder.path, 'raw-materials');
  });
  afterEach(() => folder.remove());

  const found = (user?: typeof nobody) => cacheFolder({ XDG_CACHE_HOME: folder.path }, user);

  it('is made where it is missing, for others to enter', () => {
    const umask = process.umask(0o077);
    const made = found(nobody);
    process.umask(umask);
    expect(made).to.equal(own);
  });

  it('is none that others may write to, who could put programs of theirs there', async () => {
    await mkdir(own);
    for (const mode of [0o775, 0o757]) {
      await chmod(own, mode);
      expect(found()).to.not.equal(own);
    }
    await chmod(own, 0o755);
    expect(found()).to.equal(own);
  });

  it('is none that the user of the server may not enter', async () => {
    await mkdir(own, { mode: 0o700 });
    expect(found(nobody)).to.not.equal(own);
    expect(found()).to.equal(own);
  });

  if (process.getuid?.() === 0) {
    it('is none that belongs to somebody else', async () => {
      await mkdir(own);
      await chown(own, nobody.uid, nobody.gid);
      expect(found()).to.not.equal(own);
    });

    it('is among the temporary files where the user has no home', async () => {
      await chmod(folder.path, 0o777);
      const module = new URL('../../../shared/standalone/cache-folder.ts', import.meta.url).href;
      // The module is read first: the user may not be let into this folder.
      const script = `
        import { cacheFolder } from '${module}';
        process.setgid(${nobodyKnown});
        process.setuid(${nobodyKnown});
        delete process.env.HOME;
        process.env.TMPDIR = '${folder.path}';
        console.log(cacheFolder({}));`;
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--import',
        'tsx',
        '--input-type=module',
        '--eval',
        script,
      ]);
      expect(stdout.trim()).to.equal(join(folder.path, `raw-materials-${nobodyKnown}`));
    });
  }
});
