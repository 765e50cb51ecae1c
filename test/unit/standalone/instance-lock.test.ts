import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { takeLock } from '../../../shared/standalone/instance-lock.js';
import { startOf } from '../../../shared/standalone/processes.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

describe('the lock of a data folder', () => {
  let folder: { path: string; remove(): Promise<void> };
  let path: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
    path = join(folder.path, 'start.lock');
  });
  afterEach(() => folder.remove());

  it('is taken once, names its holder to the next, and is free after release', () => {
    const first = takeLock(path);
    expect(first.ok).to.equal(true);
    expect(takeLock(path)).to.deep.equal({ ok: false, pid: process.pid });
    if (first.ok) first.release();
    expect(existsSync(path)).to.equal(false);
    expect(takeLock(path).ok).to.equal(true);
  });

  it('is released once, and never where it is that of another', async () => {
    const first = takeLock(path);
    if (!first.ok) throw new Error('the lock is not free');
    await writeFile(path, JSON.stringify({ pid: 1, start: 'another' }));
    first.release();
    expect(existsSync(path)).to.equal(true);
    await rm(path);
    // Numbers are reused, in a container soon.
    const reused = takeLock(path);
    if (!reused.ok) throw new Error('the lock is not free');
    await writeFile(path, JSON.stringify({ pid: process.pid, start: 'another' }));
    reused.release();
    expect(existsSync(path)).to.equal(true);
    await rm(path);
    const second = takeLock(path);
    if (second.ok) second.release();
    expect(takeLock(path).ok).to.equal(true);
    if (second.ok) second.release();
    expect(existsSync(path)).to.equal(true);
  });

  it('is taken over from a process that is gone', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    const start = startOf(child.pid ?? 0) ?? 'unknown';
    await once(child, 'exit');
    await writeFile(path, JSON.stringify({ pid: child.pid, start }));
    expect(takeLock(path).ok).to.equal(true);
  });

  it('is taken over when the number of its process now belongs to another', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, start: 'long ago' }));
    expect(takeLock(path).ok).to.equal(true);
  });

  it('is taken over when its file is empty, as a full disk leaves it', async () => {
    await writeFile(path, '');
    expect(takeLock(path).ok).to.equal(true);
  });

  it('is left to another start that has taken it over from the same process a moment before', async () => {
    const gone = 999_999_999;
    const other = JSON.stringify({ pid: process.ppid, start: startOf(process.ppid) });
    await writeFile(path, JSON.stringify({ pid: gone, start: 'long ago' }));
    const kill = process.kill.bind(process);
    process.kill = (pid, signal) => {
      // We have read the lock, and ask whether its process lives.
      if (pid === gone) writeFileSync(path, other);
      return kill(pid, signal);
    };
    try {
      expect(takeLock(path)).to.deep.equal({ ok: false, pid: process.ppid });
    } finally {
      process.kill = kill;
    }
    expect(await readFile(path, 'utf8')).to.equal(other);
    expect(await readdir(folder.path)).to.deep.equal(['start.lock']);
  });

  it('leaves nothing else in the folder', async () => {
    takeLock(path);
    takeLock(path);
    expect(await readdir(folder.path)).to.deep.equal(['start.lock']);
  });
});
