import { chmod, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Outcome } from '../../../shared/runtime/outcome.js';
import { isAlive } from '../../../shared/standalone/processes.js';
import { checkRedis, readRedisFacts } from '../../../shared/standalone/redis-check.js';
import { isNewEnough } from '../../../shared/standalone/redis-version.js';
import { startRedis } from '../../../shared/standalone/redis.js';
import type { RedisServer } from '../../../shared/standalone/redis.js';
import { leaveBehind } from '../../support/processes/leave-behind.js';
import { loadingRedis } from '../../support/redis/loading-redis.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

describe('the private Redis', () => {
  let folder: { path: string; remove(): Promise<void> };
  let dir: string;
  const running: RedisServer[] = [];

  before(async () => {
    folder = await temporaryFolder();
    dir = join(folder.path, 'redis');
  });

  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });

  after(() => folder.remove());

  async function start(options: { port?: number; dir?: string } = {}): Promise<RedisServer> {
    const outcome = await startRedis({ dir, say: () => undefined, env: process.env, ...options });
    if (!outcome.ok) throw new Error(outcome.problem);
    running.push(outcome.value);
    return outcome.value;
  }

  it('begins its log again at a start once that is large, and keeps the one before', async () => {
    await mkdir(dir, { recursive: true });
    const log = join(dir, 'redis.log');
    await writeFile(log, 'x'.repeat(20_000_001));
    await start();
    expect((await stat(`${log}.1`)).size).to.equal(20_000_001);
    const said = await readFile(log, 'utf8');
    expect(said)
      .to.match(/Ready to accept connections/i)
      .and.not.contain('xxx');
    await running.pop()?.stop();
    await start();
    // One that is not large goes on.
    expect(await readFile(log, 'utf8')).to.satisfy((text: string) => text.startsWith(said));
  });

  it('never evicts, appends to disk, and opens to its password alone', async () => {
    const { url, port } = await start();
    expect(await ask(url, (redis) => redis.config('GET', 'maxmemory-policy'))).to.deep.equal([
      'maxmemory-policy',
      'noeviction',
    ]);
    expect(await ask(url, (redis) => redis.config('GET', 'appendonly'))).to.deep.equal(['appendonly', 'yes']);
    expect(await ask(url, (redis) => redis.config('GET', 'appendfsync'))).to.deep.equal(['appendfsync', 'everysec']);
    expect(await ask(url, (redis) => redis.config('GET', 'bind'))).to.deep.equal(['bind', '127.0.0.1']);
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
    expect([await modeOf(dir), await modeOf(join(dir, 'redis.conf'))]).to.deep.equal([0o700, 0o600]);
    const refused = await ask(`redis://127.0.0.1:${String(port)}`, (redis) => redis.get('a')).catch(
      (error: unknown) => (error as Error).message,
    );
    expect(refused).to.match(/NOAUTH/);
    expect(await checkRedis(url)).to.have.property('ok', true);
  });

  it('keeps what it holds over a stop, and leaves no process', async () => {
    const first = await start();
    await ask(first.url, (redis) => redis.set('kept', '42'));
    await first.stop();
    expect(isAlive(first.pid)).to.equal(false);
    expect(await readFile(join(dir, 'redis.log'), 'utf8'), 'not killed').to.match(/ is now ready to exit, [^\n]*\n$/);
    const second = await start();
    expect(second.adopted).to.equal(false);
    expect(await ask(second.url, (redis) => redis.get('kept'))).to.equal('42');
  });

  it('is taken over when a kill −9 of its parent left it running', async () => {
    const left = await leaveBehind({ module: 'redis.ts', name: 'startRedis', options: { dir } });
    expect(isAlive(left.pid)).to.equal(true);
    const server = await start();
    expect(server).to.include({ adopted: true, pid: left.pid, port: left.port });
    await server.stop();
    expect(isAlive(left.pid)).to.equal(false);
  });

  it('is ended before another starts on its files when the one left running does not answer', async () => {
    const left = await leaveBehind({ module: 'redis.ts', name: 'startRedis', options: { dir } });
    process.kill(left.pid, 'SIGSTOP');
    const server = await start();
    expect(server.adopted).to.equal(false);
    expect(isAlive(left.pid)).to.equal(false);
    expect(await ask(server.url, (redis) => redis.get('kept'))).to.equal('42');
  });

  it('is left alone by a start on a copy of its folder', async () => {
    const first = await start();
    const copy = join(folder.path, 'copy');
    await cp(dir, copy, { recursive: true });
    const second = await start({ dir: copy });
    expect(second.adopted).to.equal(false);
    expect(isAlive(first.pid)).to.equal(true);
  });

  it('comes back on the same port right after a kill −9, with the password that its clients have', async () => {
    const first = await start();
    first.kill();
    const second = await start({ port: first.port });
    expect(second).to.include({ adopted: false, port: first.port, url: first.url });
  });

  it('starts over a pid file that names another program', async () => {
    const first = await start();
    await first.stop();
    await writeFile(join(dir, 'redis.pid'), `${String(process.pid)}\n`);
    const second = await start();
    expect(second.adopted).to.equal(false);
  });

  it('moves to a free port when the wanted one is busy', async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    const { port } = squatter.address() as { port: number };
    try {
      const server = await start({ port });
      expect(server.port).not.to.equal(port);
    } finally {
      squatter.close();
    }
  });

  it('is refused, with what to do, when it may throw away queued work', async () => {
    const { url } = await start();
    await ask(url, (redis) => redis.config('SET', 'maxmemory-policy', 'allkeys-lru'));
    expect(problem(await checkRedis(url))).to.match(/maxmemory-policy is allkeys-lru.*CONFIG SET/s);
  });

  it('is refused, with what to do, while it takes no writes', async () => {
    const { url } = await start();
    await ask(url, (redis) => redis.config('SET', 'maxmemory', '1'));
    expect(problem(await checkRedis(url))).to.match(
      /takes no writes: OOM [^\n]*\nGive it more memory \(maxmemory\)\.$/,
    );
    await ask(url, (redis) => redis.config('SET', 'maxmemory', '0'));
    await ask(url, (redis) => redis.replicaof('127.0.0.1', 1));
    expect(problem(await checkRedis(url))).to.match(/takes no writes: READONLY [^\n]*\nIt is a replica: [^\n]*$/);
    await ask(url, (redis) => redis.replicaof('NO', 'ONE'));
    await ask(url, (redis) => redis.config('SET', 'min-replicas-to-write', '1'));
    expect(problem(await checkRedis(url))).to.match(/takes no writes: NOREPLICAS [^\n]*\nBring back its replicas, /);
    await ask(url, (redis) => redis.config('SET', 'min-replicas-to-write', '0'));
    expect(await checkRedis(url)).to.have.property('ok', true);
  });

  it('is refused, with what to do, once it could not save to its disk', async () => {
    const { url } = await start();
    // In the way of the file that it saves to.
    await mkdir(join(dir, 'dump.rdb', 'full'), { recursive: true });
    await ask(url, (redis) => redis.config('SET', 'save', '3600 1'));
    await ask(url, (redis) => redis.bgsave());
    const hasFailed = () => ask(url, async (redis) => (await redis.info()).includes('rdb_last_bgsave_status:err'));
    await until(hasFailed, { deadlineMs: 10_000, what: 'the save to fail' });
    expect(problem(await checkRedis(url))).to.match(/takes no writes: MISCONF [^\n]*\nIt could not save to its disk: /);
  });

  it('writes nothing where it is asked whether it takes writes', async () => {
    const { url } = await start();
    await ask(url, (redis) => redis.flushdb());
    expect(await checkRedis(url)).to.have.property('ok', true);
    expect(await ask(url, (redis) => redis.dbsize())).to.equal(0);
  });

  it('is refused where its user may not do what is needed, and nobody is told to start it', async () => {
    const { url } = await start();
    await ask(url, (redis) => redis.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '+ping'));
    const limited = new URL(url);
    Object.assign(limited, { username: 'limited', password: 'pw' });
    expect(problem(await checkRedis(limited.href))).to.match(/refuses: NOPERM .* Mend the user or the password in /);
  });
});

describe('where a Redis comes from', () => {
  let folder: { path: string; remove(): Promise<void> };
  before(async () => (folder = await temporaryFolder()));
  after(() => folder.remove());

  it('says what to do when its folder cannot be made', async () => {
    await writeFile(join(folder.path, 'file'), '');
    const outcome = await startRedis({ dir: join(folder.path, 'file', 'redis'), say: () => undefined, env: {} });
    expect(problem(outcome)).to.match(/^Redis cannot keep its data in .*Set DATA_DIR to another folder\.$/);
  });

  it('says what to do when there is none and no apt-get', async () => {
    const outcome = await startRedis({
      dir: join(folder.path, 'none'),
      say: () => undefined,
      env: { PATH: folder.path },
    });
    expect(problem(outcome)).to.match(/redis-server.*valkey-server.*PATH.*install.*REDIS_URL/s);
  });

  it('passes over one that is too old, and says so', async () => {
    const bin = await program('old', 'redis-server', 'echo "Redis server v=5.0.14 sha=0 malloc=libc bits=64"');
    const said: string[] = [];
    const outcome = await startRedis({
      dir: join(folder.path, 'old-data'),
      say: (line) => said.push(line),
      env: { PATH: bin },
    });
    expect(outcome.ok).to.equal(false);
    expect(said.join()).to.match(/version 5\.0\.14, and 6\.2 is needed/);
  });

  it('takes another port each time that one is taken between the look and the start, and gives up at the fifth', async () => {
    const refuses = [
      'if [ "$1" = --version ]; then echo "Redis server v=7.0.15 sha=0"; exit; fi',
      'while read -r name value; do [ "$name" = port ] && echo "$value" >> ports; done < "$1"',
      'echo "bind: Address already in use"; exit 1',
    ];
    const bin = await program('beaten', 'redis-server', refuses.join('\n'));
    const dir = join(folder.path, 'beaten-data');
    const outcome = await startRedis({ dir, say: () => undefined, env: { PATH: bin } });
    expect(problem(outcome)).to.match(/^Redis did not start .*Address already in use/s);
    const ports = (await readFile(join(dir, 'ports'), 'utf8')).trimEnd().split('\n');
    expect(ports).to.have.length(5);
    expect(new Set(ports)).to.have.property('size', 5);
  });

  it('is not used before it has read its file, though it answers', async () => {
    const script = join(folder.path, 'loading.cjs');
    await writeFile(script, loadingRedis);
    const bin = await program('loading', 'redis-server', `exec '${process.execPath}' '${script}' "$@"`);
    const dir = join(folder.path, 'loading-data');
    const outcome = await startRedis({ dir, say: () => undefined, env: { PATH: bin } });
    if (!outcome.ok) throw new Error(outcome.problem);
    expect(await readRedisFacts(outcome.value.url)).to.have.nested.property('value.loading', false);
    await outcome.value.stop();
  });

  it('says why a download failed, and what to do', async () => {
    const bin = await program('apt', 'apt-get', 'echo "E: Could not connect to the archive"; exit 100');
    await program('apt', 'dpkg-deb', 'exit 1');
    const env = { PATH: bin, XDG_CACHE_HOME: join(folder.path, 'cache') };
    const outcome = await startRedis({ dir: join(folder.path, 'apt-data'), say: () => undefined, env });
    expect(problem(outcome)).to.match(/Could not connect to the archive.*REDIS_URL/s);
  });

  it('says that a Redis that was given does not answer', async () => {
    expect(problem(await checkRedis('redis://127.0.0.1:1'))).to.match(/REDIS_URL does not answer.*ECONNREFUSED/s);
  });

  for (const { version, enough } of [
    { version: '6.0.16', enough: false },
    { version: '6.2.0', enough: true },
    { version: '7.0.15', enough: true },
    { version: '10.0.0', enough: true },
  ]) {
    it(`version ${version} is ${enough ? 'new enough' : 'too old'}`, () => {
      expect(isNewEnough(version)).to.equal(enough);
    });
  }

  /** A program that does one thing; `/bin/sh` by its path, since the PATH under test holds nothing else. */
  async function program(set: string, name: string, body: string): Promise<string> {
    const bin = join(folder.path, set);
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`);
    await chmod(join(bin, name), 0o755);
    return bin;
  }
});

function problem(outcome: Outcome<unknown>): string {
  return outcome.ok ? 'no problem' : outcome.problem;
}

async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
