import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { spawnServer } from '../../../shared/standalone/spawn-server.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

describe('a server that is spawned', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  async function lastWordsOf(file: string, ...args: string[]): Promise<string> {
    const options = { cwd: folder.path, env: {}, logPath: join(folder.path, 'log') };
    const { isGone, lastWords } = spawnServer(file, args, options, undefined);
    await until(isGone, { deadlineMs: 10_000, what: 'its end' });
    return lastWords();
  }

  it('is quoted with what it said itself, not with what an earlier one has left in the log', async () => {
    await writeFile(join(folder.path, 'log'), 'could not bind\n');
    expect(await lastWordsOf('/bin/sh', '-c', 'echo no space')).to.equal('no space');
    expect(await readFile(join(folder.path, 'log'), 'utf8')).to.equal('could not bind\nno space\n');
  });

  it('is quoted with the reason where it cannot even be started', async () => {
    expect(await lastWordsOf(join(folder.path, 'none'))).to.match(/ENOENT/);
  });
});
