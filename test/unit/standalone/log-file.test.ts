import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { openLogFile } from '../../../shared/standalone/log-file.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const bytesMax = 20_000_000;

describe('the log of a process of npm start', () => {
  let folder: { path: string; remove(): Promise<void> };
  before(async () => (folder = await temporaryFolder()));
  after(() => folder.remove());

  it('becomes the one before past 20 MB, what was there at the start included, and begins again', async () => {
    const path = join(folder.path, 'api.log');
    await writeFile(path, 'x'.repeat(bytesMax));
    const log = openLogFile(path);
    for (const line of ['past', 'new', 'newer']) log.write(`${line}\n`);
    log.close();
    expect((await stat(`${path}.1`)).size).to.equal(bytesMax + 'past\n'.length);
    expect(await readFile(path, 'utf8')).to.equal('new\nnewer\n');
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });

  it('is for its owner alone to read', async () => {
    const path = join(folder.path, 'worker-1.log');
    openLogFile(path).close();
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });
});
