import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { isAlive, signal } from '../../shared/standalone/processes.js';
import { npmStart } from '../support/processes/npm-start.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';

/** A second Ctrl-C within 500 ms of the first is its echo. */
const noEchoMs = 700;

describe('npm start that is ended while it starts', () => {
  let folder: { path: string; remove(): Promise<void> };
  let redisPid: number | undefined;
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(async () => {
    if (redisPid !== undefined) signal(redisPid, 'SIGKILL');
    await folder.remove();
  });

  /** `npm start` as it waits for a Redis that does not answer, beside a Postgres that is there. */
  async function startHalf() {
    const dataDir = join(folder.path, 'data');
    await mkdir(dataDir);
    // As a kill −9 leaves it: whoever waits for it would find nothing there.
    await writeFile(join(dataDir, 'demo.json'), '{}');
    const pidFile = join(folder.path, 'redis.pid');
    const start = npmStart(dataDir, { PATH: await pathWithDeafRedis(folder.path, pidFile) });
    await until(() => existsSync(pidFile) && start.output().includes('Postgres: 18.'), {
      deadlineMs: 30_000,
      what: () => `the servers; it said:\n${start.output()}`,
    });
    // As the server tells it; the npm package that it comes in is a beta.
    expect(start.output()).to.match(/ Postgres: 18\.\d+ on port \d+$/m);
    expect(existsSync(join(dataDir, 'demo.json')), 'demo.json').to.equal(false);
    redisPid = Number(await readFile(pidFile, 'utf8'));
    return { start, dataDir, lock: join(dataDir, 'start.lock'), pid: redisPid };
  }

  it('keeps the lock of its folder until nothing runs there, and a second Ctrl-C leaves no server behind', async () => {
    const { start, dataDir, lock, pid } = await startHalf();
    const postgresPid = parseInt(await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10);

    start.kill('SIGINT');
    await until(() => !isAlive(postgresPid), { deadlineMs: 15_000, what: 'Postgres to be stopped' });
    await delay(noEchoMs);
    expect({ redis: isAlive(pid), lock: existsSync(lock) }).to.deep.equal({ redis: true, lock: true });

    start.kill('SIGINT');
    expect(await start.exited).to.deep.equal({ code: 130, signal: null });
    await until(() => !isAlive(pid), { deadlineMs: 5_000, what: 'the Redis to end' });
    expect(existsSync(lock)).to.equal(false);
  });

  it('is not cut short by a second hang-up of its terminal', async () => {
    const { start, lock, pid } = await startHalf();

    start.kill('SIGHUP');
    await until(() => start.output().includes('SIGHUP: stopping'), {
      deadlineMs: 5_000,
      what: 'the first to be heard',
    });
    start.kill('SIGHUP');
    await delay(noEchoMs);
    expect(existsSync(lock)).to.equal(true);
    signal(pid, 'SIGKILL');
    expect(await start.exited).to.deep.equal({ code: 0, signal: null });
    expect(existsSync(lock)).to.equal(false);
  });

  it('closes what it has opened also on a Ctrl-\\, which would dump it', async () => {
    const { start, lock, pid } = await startHalf();

    start.kill('SIGQUIT');
    await until(() => start.output().includes('SIGQUIT: stopping'), { deadlineMs: 5_000, what: 'it to be heard' });
    signal(pid, 'SIGKILL');
    expect(await start.exited).to.deep.equal({ code: 0, signal: null });
    expect(existsSync(lock)).to.equal(false);
  });
});

/** A PATH with a Redis that never answers, and `id`, which tells whom Postgres may run as. */
async function pathWithDeafRedis(within: string, pidFile: string): Promise<string> {
  const bin = join(within, 'bin');
  await mkdir(bin);
  const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'id'));
  await symlink(places.find(existsSync) ?? '/usr/bin/id', join(bin, 'id'));
  const redis = join(bin, 'redis-server');
  const version = `[ "$1" = --version ] && echo 'Redis server v=7.2.0' && exit`;
  await writeFile(
    redis,
    `#!/bin/sh\n${version}\necho $$ > '${pidFile}.new'\n/bin/mv '${pidFile}.new' '${pidFile}'\nexec /bin/sleep 300\n`,
  );
  await chmod(redis, 0o755);
  return bin;
}
