import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { isAlive } from '../../shared/standalone/processes.js';
import { newestPidIn, processesOf } from '../support/processes/npm-start-demo.js';
import { npmStart } from '../support/processes/npm-start.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';

/** A second Ctrl-C within 500 ms of the first is its echo. */
const noEchoMs = 700;

describe('npm start that is interrupted a second time, since the first takes too long', () => {
  it('leaves neither a process of ours that hangs nor servers that it took over', async () => {
    const folder = await temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const killed = npmStart(dataDir);
    await killed.ready();
    const { service: before } = await processesOf(dataDir);
    killed.kill('SIGKILL');
    await killed.exited;
    await until(() => !before.some(isAlive), { deadlineMs: 30_000, what: 'the API and the workers to end' });
    const start = npmStart(dataDir);
    await until(() => start.output().includes('Ctrl-C stops all'), {
      deadlineMs: 30_000,
      what: () => `the second start; it said:\n${start.output()}`,
    });
    expect(start.output())
      .to.match(/Postgres: taking over/)
      .and.to.match(/Redis: taking over/);
    const { servers, service } = await processesOf(dataDir);
    // The first to be stopped, and all others wait for it. It cannot hear either that its parent is gone.
    process.kill(await newestPidIn(join(dataDir, 'logs', 'api.log')), 'SIGSTOP');
    try {
      start.kill('SIGINT');
      // Its time runs from where the first is heard, which may be long after it was sent.
      await until(() => start.output().includes('SIGINT: stopping'), {
        deadlineMs: 15_000,
        what: 'the first to be heard',
      });
      await delay(noEchoMs);
      expect([...servers, ...service].every(isAlive)).to.equal(true);
      start.kill('SIGINT');
      expect(await start.exited).to.deep.equal({ code: 130, signal: null });
      const left = () => [...servers, ...service].filter(isAlive);
      await until(() => left().length === 0, { deadlineMs: 15_000, what: 'the end of all' });
    } finally {
      for (const pid of [...servers, ...service].filter(isAlive)) process.kill(pid, 'SIGKILL');
      await folder.remove();
    }
  });
});
