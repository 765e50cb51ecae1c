import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { cacheFolder } from '../../../shared/standalone/cache-folder.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const nobody = { uid: 65_534, gid: 65_534, name: 'nobody' };

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
    expect(found(nobody)).to.equal(own);
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
  }
});
