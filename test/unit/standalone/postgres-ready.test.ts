import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { untilReady } from '../../../shared/standalone/postgres-ready.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const startSilenceMsMax = 50;
const at = (line: string) => `2026-11-27 22:00:00.000 UTC [42] LOG:  ${line}\n`;
const replayed = at('redo done at 1/2345678 system usage: CPU: user: 1.0 s, system: 0.5 s, elapsed: 2.0 s');
const writing = at('checkpoint starting: end-of-recovery immediate wait');
const written = at('checkpoint complete: wrote 56252 buffers (85.8%), wrote 3 SLRU buffers');

describe('a Postgres that starts and says nothing', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => (folder = await temporaryFolder()));
  after(() => folder.remove());

  for (const [what, log, isWaitedFor] of [
    ['has replayed its log', replayed, false],
    ['writes what it has replayed', replayed + writing, true],
    ['has written much before that', 'x'.repeat(5_000) + replayed + writing, true],
    ['has written that', replayed + writing + written, false],
  ] as const) {
    it(`is ${isWaitedFor ? 'waited for' : 'given up'} where it ${what}`, async () => {
      const path = join(folder.path, what);
      await mkdir(path);
      const paths = { path, cluster: path, log: join(path, 'postgres.log'), password: '' };
      await writeFile(paths.log, log);
      const abort = new AbortController();
      const starting = { pid: process.pid, isGone: () => false };
      const patience = { say: () => undefined, signal: abort.signal, startSilenceMsMax };
      let isOver = false;
      const waiting = untilReady(starting, paths, patience).finally(() => (isOver = true));
      if (isWaitedFor) {
        await delay(10 * startSilenceMsMax);
        expect(isOver).to.equal(false);
        abort.abort();
      }
      expect(await waiting).to.equal(undefined);
    });
  }
});
