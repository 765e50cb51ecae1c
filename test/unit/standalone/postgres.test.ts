import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import type { Outcome } from '../../../shared/runtime/outcome.js';
import { startPostgres } from '../../../shared/standalone/postgres.js';
import type { PostgresOptions, PostgresServer } from '../../../shared/standalone/postgres.js';
import { readPidFile } from '../../../shared/standalone/postgres-probe.js';
import { isAlive } from '../../../shared/standalone/processes.js';
import { execute } from '../../support/database/execute.js';
import { leaveBehind } from '../../support/processes/leave-behind.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

describe('the embedded Postgres', () => {
  let folder: { path: string; remove(): Promise<void> };
  let dataDir: string;
  const running: PostgresServer[] = [];
  const said: string[] = [];

  before(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder.path, 'postgres');
  });

  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
    said.length = 0;
  });

  after(() => folder.remove());

  async function start(options: Partial<PostgresOptions> = {}): Promise<PostgresServer> {
    const server = value(
      await startPostgres({ dataDir, say: (line) => said.push(line), env: process.env, ...options }),
    );
    running.push(server);
    return server;
  }

  it('is made at the first start, UTF-8 and C.UTF-8 on every machine, safe on disk, on the loopback only', async () => {
    // Of the user's environment it sees the PATH alone.
    const { url } = await start({ env: { ...process.env, TZ: 'Asia/Tokyo' } });
    const [row] = await execute(
      url,
      `SELECT current_setting('server_encoding') AS encoding, datlocprovider AS provider, datlocale AS locale,
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
         current_setting('listen_addresses') AS listens, current_setting('full_page_writes') AS pages,
         current_setting('TimeZone') AS zone,
         EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS trigrams
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(row).to.deep.equal({
      encoding: 'UTF8',
      provider: 'b',
      locale: 'C.UTF-8',
      fsync: 'on',
      commit: 'on',
      listens: '127.0.0.1',
      pages: 'on',
      zone: 'UTC',
      trigrams: true,
    });
  });

  it('lets nobody in without its password, which only its owner can read', async () => {
    const { url } = await start();
    const wrong = new URL(url);
    wrong.password = 'wrong';
    const refused = await execute(wrong.href, 'SELECT 1').catch((error: unknown) => (error as { code?: string }).code);
    expect(refused).to.equal('28P01');
    expect((await stat(join(dataDir, 'password'))).mode & 0o777).to.equal(0o600);
    expect((await stat(dataDir)).mode & 0o777).to.equal(0o700);
  });

  it('keeps its data and password over a stop, and leaves no process', async () => {
    const first = await start();
    await execute(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const session = new pg.Client(first.url);
    session.on('error', () => undefined);
    await session.connect();
    await first.stop();
    await session.end().catch(() => undefined);
    expect(isAlive(first.pid)).to.equal(false);
    const second = await start();
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
    expect(log, 'no recovery, and no wait for the session').to.not.contain('was not properly shut down');
    expect(second.adopted).to.equal(false);
    expect(new URL(second.url).password).to.equal(new URL(first.url).password);
    expect(await execute(second.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('is taken over when a kill −9 of its parent left it running', async () => {
    const left = await leaveBehind({ module: 'postgres.ts', name: 'startPostgres', options: { dataDir } });
    expect(isAlive(left.pid)).to.equal(true);
    const server = await start();
    expect(server).to.include({ adopted: true, pid: left.pid, port: left.port });
    expect(await execute(server.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    await server.stop();
    expect(isAlive(left.pid)).to.equal(false);
  });

  it('is ended and started anew when the one left running does not answer', async () => {
    const left = await leaveBehind({ module: 'postgres.ts', name: 'startPostgres', options: { dataDir } });
    process.kill(left.pid, 'SIGSTOP');
    const server = await start();
    expect(said[0]).to.equal(`Postgres: process ${left.pid} serves this folder and does not answer; ending it`);
    expect(server.adopted).to.equal(false);
    expect(isAlive(left.pid)).to.equal(false);
    expect(await execute(server.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
  });

  it('comes back on the same port right after a kill −9, with sessions open', async () => {
    const first = await start();
    const session = new pg.Client(first.url);
    session.on('error', () => undefined);
    await session.connect();
    first.kill();
    const second = await start({ port: first.port });
    expect(second).to.include({ adopted: false, port: first.port });
    await session.end().catch(() => undefined);
  });

  describe('while it recovers', () => {
    let other: string;
    beforeEach(async () => {
      other = join(folder.path, 'recovering');
      const server = await start({ dataDir: other });
      await server.stop();
      // It asks the given command for each file of WAL that it misses, and starts once told that there is none.
      await writeFile(join(other, 'cluster', 'recovery.signal'), '');
    });
    afterEach(() => rm(other, { recursive: true }));
    const recovery = (command: string) => ({
      dataDir: other,
      settings: { hot_standby: 'off', restore_command: command },
    });

    it('is waited for as long as its log grows, also by the next start', async () => {
      const command = 'for i in 1 2; do echo recovering >&2; sleep 0.5; done; false';
      const first = start({ ...recovery(command), startSilenceMsMax: 3_000 });
      // Not the file, which is empty at first.
      await until(() => readPidFile(join(other, 'cluster')), { deadlineMs: 10_000, what: 'its pid' });
      const second = await start({ dataDir: other });
      expect(second).to.include({ adopted: true, pid: (await first).pid });
      // Once by each of the two.
      expect(said.filter((line) => line.includes('tells how far it is'))).to.have.length.within(1, 2);
      expect(await execute(second.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    });

    it('is ended when the start is given up', async () => {
      const abort = new AbortController();
      const spawned: number[] = [];
      const first = startPostgres({
        ...recovery('sleep 5; false'),
        say: () => undefined,
        env: process.env,
        signal: abort.signal,
        onSpawn: (pid) => spawned.push(pid),
      });
      const pidFile = join(other, 'cluster', 'postmaster.pid');
      await until(() => existsSync(pidFile), { deadlineMs: 10_000, what: 'its pid' });
      abort.abort(new Error('enough'));
      expect(await first.catch((error: unknown) => error)).to.have.property('message', 'enough');
      // Not by its file: one that gets the signal just as it runs a command must be killed, and leaves the file behind.
      expect(spawned.map(isAlive)).to.deep.equal([false]);
    });

    it('is ended, with what it said, once it is silent for too long', async () => {
      const given = { ...recovery('sleep 60; false'), say: () => undefined, env: process.env };
      const startFor = async (startSilenceMsMax: number): Promise<string> => {
        const outcome = await startPostgres({ ...given, startSilenceMsMax });
        expect(existsSync(join(other, 'cluster', 'postmaster.pid'))).to.equal(false);
        const problem = outcome.ok ? 'it started' : outcome.problem;
        // On a slow machine it may be silent for as long before it has begun to recover.
        const isBegun = problem.includes('database system was shut down');
        return isBegun || startSilenceMsMax > 30_000 ? problem : startFor(4 * startSilenceMsMax);
      };
      expect(await startFor(1_000)).to.match(/did not start.*database system was shut down/s);
    });
  });

  for (const { what, pid } of [
    { what: 'a process that is gone', pid: 4_194_304 },
    { what: 'another program, its number having come around', pid: process.pid },
  ]) {
    it(`starts over a postmaster.pid that names ${what}`, async () => {
      const first = await start();
      const file = join(dataDir, 'cluster', 'postmaster.pid');
      const lines = (await readFile(file, 'utf8')).split('\n');
      await first.stop();
      await writeFile(file, [String(pid), ...lines.slice(1)].join('\n'));
      // As root this test is another user than Postgres, who is to read the file whatever the umask is.
      await chmod(file, 0o644);
      const second = await start();
      expect(second.adopted).to.equal(false);
      expect(isAlive(pid)).to.equal(pid === process.pid);
      const stale = `Postgres: process ${pid} in postmaster.pid is another program; the file is stale and goes`;
      expect(said.includes(stale)).to.equal(pid === process.pid);
    });
  }

  it('moves to a free port when the wanted one is busy', async () => {
    const squatter = createServer();
    const port = await listen(squatter);
    try {
      const server = await start({ port });
      expect(server.port).not.to.equal(port);
      expect(await execute(server.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    } finally {
      squatter.close();
    }
  });

  if (process.getuid?.() === 0) {
    it('T19: is kept elsewhere, and found again, when root starts it in a directory that is closed to others, also once that is opened', async () => {
      const closed = join(folder.path, 'closed');
      await mkdir(closed, { mode: 0o700 });
      const first = await start({ dataDir: join(closed, 'postgres') });
      const elsewhere = (await readFile(join(closed, 'postgres.moved'), 'utf8')).trim();
      try {
        await execute(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
        await first.stop();
        const second = await start({ dataDir: join(closed, 'postgres') });
        expect(await execute(second.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
        await second.stop();
        await chmod(closed, 0o755);
        const third = await start({ dataDir: join(closed, 'postgres') });
        expect(await execute(third.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
        await third.stop();
      } finally {
        await rm(elsewhere, { recursive: true });
      }
    });
  }

  it('throws away a cluster that was killed half-way through its making', async () => {
    const other = join(folder.path, 'half');
    await mkdir(join(other, 'cluster.partial'), { recursive: true });
    await writeFile(join(other, 'cluster.partial', 'PG_VERSION'), '18\n');
    const server = await start({ dataDir: other });
    expect(await execute(server.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
  });

  it('is made where a start that was cut off, or a full disk, has left an empty password', async () => {
    const dir = join(folder.path, 'no-password-yet');
    await mkdir(dir);
    await writeFile(join(dir, 'password'), '', { mode: 0o600 });
    const { url } = await start({ dataDir: dir });
    expect(await execute(url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
  });

  it('says what to do when the password of a cluster was lost', async () => {
    await rm(join(folder.path, 'half', 'password'));
    const outcome = await startPostgres({ dataDir: join(folder.path, 'half'), say: () => undefined, env: process.env });
    expect(outcome).to.have.property('ok', false);
    expect(outcome)
      .to.have.property('problem')
      .that.matches(/password is missing.*Restore it, or remove/s);
  });

  it('says what to do when its folder cannot be made', async () => {
    await writeFile(join(folder.path, 'file'), '');
    const outcome = await startPostgres({
      dataDir: join(folder.path, 'file', 'postgres'),
      say: () => undefined,
      env: process.env,
    });
    expect(outcome)
      .to.have.property('problem')
      .that.matches(/cannot keep its data.*Set DATA_DIR/s);
  });
});

function value<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(outcome.problem);
  return outcome.value;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve((server.address() as { port: number }).port);
    });
  });
}
