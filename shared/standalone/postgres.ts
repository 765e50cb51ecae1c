import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { locatePostgresFolder, postgresEnv, preparePostgresFolder, urlOf } from './postgres-folder.js';
import type { PostgresFolder } from './postgres-folder.js';
import { isPostmasterOf, readPidFile } from './postgres-probe.js';
import { untilReady } from './postgres-ready.js';
import type { Patience } from './postgres-ready.js';
import { freePort, portOrFree } from './ports.js';
import { endProcess, isAlive, isZombie, signal } from './processes.js';
import { findServerUser } from './server-user.js';
import type { ServerUser } from './server-user.js';
import { spawnServer } from './spawn-server.js';
import type { SpawnedServer } from './spawn-server.js';

/** A running embedded Postgres. It outlives this process unless it is stopped. */
export interface PostgresServer {
  /** The address of the database `postgres`, with user and password. */
  url: string;
  port: number;
  pid: number;
  /** It was left running by an earlier start that was killed, and has been taken over. */
  adopted: boolean;
  /** Ends open sessions and waits until it is gone, 12 s at most. */
  stop(): Promise<void>;
  /** SIGKILL: the crash, for tests. */
  kill(): void;
}

/** The signal ends the start, and the server with it. */
export interface PostgresOptions extends Patience {
  /** Its own folder; made when missing. */
  dataDir: string;
  /** Wanted, not promised: a busy port moves. Default: any free one. */
  port?: number;
  /** Further server settings, by name. */
  settings?: Readonly<Record<string, string | number>>;
  env: NodeJS.ProcessEnv;
  /** Told each server process as soon as it is there, long before it is ready. */
  onSpawn?: (pid: number) => void;
}

const pollMs = 20;
const portAttemptsMax = 5;
const portFreedMsMax = 1_000;
const memoryFreedMsMax = 30_000;
/** SIGINT is Postgres' fast shutdown, SIGQUIT its immediate one, which recovers at the next start like a crash. */
const stopSteps = [
  { name: 'SIGINT', msMax: 6_000 },
  { name: 'SIGQUIT', msMax: 3_000 },
  { name: 'SIGKILL', msMax: 3_000 },
] as const;
/**
 * Room for the pools of one API (10), of several workers (4 each, plus 2 for the mirror) and of the tests. Buffers are
 * taken as needed; with them and fewer checkpoints a million materials are imported in 107 s, not 120.
 */
const defaultSettings = { max_connections: 200, shared_buffers: '512MB', max_wal_size: '4GB' };

/**
 * Starts the Postgres of a folder, or takes over the one that already serves it. On the loopback only, without a Unix
 * socket (whose path may be 107 bytes at most), with scram passwords; fsync and synchronous_commit stay on. What an
 * ordinary machine can have wrong comes back as a problem. It never waits longer than its named limits, except for a
 * recovery after a crash: that may take as long as its log grows, since it would only begin anew if ended.
 *
 * @throws the reason of `signal`, once nothing runs any more
 */
export async function startPostgres(given: PostgresOptions): Promise<Outcome<PostgresServer>> {
  // Servers run in folders of their own, where a relative path leads nowhere.
  const options = { ...given, dataDir: resolve(given.dataDir) };
  const user = await findServerUser(locatePostgresFolder(options.dataDir));
  if (!user.ok) return user;
  const binaries = await findPostgresBinaries({ user: user.value, say: options.say, env: options.env });
  if (!binaries.ok) return binaries;
  const folder = await preparePostgresFolder({ ...options, user: user.value, binaries: binaries.value });
  if (!folder.ok) return folder;

  const wasKilled = readPidFile(folder.value.cluster) !== undefined;
  const running = await adopt(folder.value, options);
  if (running) return { ok: true, value: server(running, folder.value, true) };
  const port = await choosePort(options.port ?? 0, wasKilled);
  return launch({ ...options, port }, folder.value, binaries.value, user.value);
}

/** A killed server's sockets close a moment after it, so its own port is worth waiting that moment for. */
async function choosePort(wanted: number, wasKilled: boolean): Promise<number> {
  const deadlineAtMs = performance.now() + (wasKilled ? portFreedMsMax : 0);
  for (;;) {
    const port = await portOrFree(wanted);
    if (wanted === 0 || port === wanted || performance.now() >= deadlineAtMs) return port;
    await delay(pollMs);
  }
}

interface Running {
  pid: number;
  port: number;
}

/**
 * The server that a killed start left behind, if it answers. If it serves this folder and does not answer, it is ended.
 * A postmaster.pid whose process is gone is removed by Postgres itself; one whose pid is another process by now (after
 * a crash of the machine) would keep Postgres from starting, so it is removed here.
 */
async function adopt(folder: PostgresFolder, options: PostgresOptions): Promise<Running | undefined> {
  const [{ cluster }, { say, signal }] = [folder, options];
  const file = readPidFile(cluster);
  if (!file) return undefined;
  if (!isAlive(file.pid)) {
    removeIfZombies(file.pid, cluster);
    return undefined;
  }
  if (!isPostmasterOf(file.pid, cluster)) {
    say(`Postgres: process ${file.pid} in postmaster.pid is another program; the file is stale and goes`);
    rmSync(join(cluster, 'postmaster.pid'));
    return undefined;
  }
  const { pid } = file;
  const port = await untilReady({ pid, isGone: () => !isAlive(pid) }, folder, options);
  if (port !== undefined) {
    say(`Postgres: taking over the one that an earlier start left running (process ${pid})`);
    return { pid, port };
  }
  if (isAlive(pid)) {
    if (signal?.aborted !== true) say(`Postgres: process ${pid} serves this folder and does not answer; ending it`);
    await endProcess(pid, stopSteps.slice(1));
  }
  signal?.throwIfAborted();
  removeIfZombies(pid, cluster);
  return undefined;
}

/**
 * Postgres asks with kill(pid, 0), which finds a zombie: "lock file already exists" (seen in a container without an
 * init).
 */
function removeIfZombies(pid: number, cluster: string): void {
  if (isZombie(pid)) rmSync(join(cluster, 'postmaster.pid'), { force: true });
}

type LaunchOptions = PostgresOptions & { port: number };

async function launch(
  options: LaunchOptions,
  folder: PostgresFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
): Promise<Outcome<PostgresServer>> {
  let { port } = options;
  const deadlineAtMs = performance.now() + memoryFreedMsMax;
  let attempts = 0;
  for (;;) {
    const started = spawnPostgres(options, folder, binaries, user, port);
    if ((await untilReady(started, folder, options)) === port) {
      return { ok: true, value: server({ pid: started.pid, port }, folder, false) };
    }
    if (!started.isGone()) await endProcess(started.pid, stopSteps.slice(1));
    options.signal?.throwIfAborted();
    const lastWords = await started.lastWords();
    // The backends of a killed server release its memory one after the other, each as soon as it notices.
    if (lastWords.includes('pre-existing shared memory block') && performance.now() < deadlineAtMs) {
      await delay(pollMs);
      continue;
    }
    // The port was taken between the look and the start.
    if (lastWords.includes('could not bind') && ++attempts < portAttemptsMax) {
      port = await freePort();
      continue;
    }
    return failed(`Postgres did not start. Its log ${folder.log} ends:\n${lastWords || '(nothing)'}`);
  }
}

function spawnPostgres(
  { settings, env, onSpawn }: PostgresOptions,
  { path, cluster, log }: PostgresFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
  port: number,
): SpawnedServer {
  const all = { ...defaultSettings, ...settings, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', cluster, '-p', String(port), ...flags];
  return spawnServer(binaries.postgres, args, { cwd: path, env: postgresEnv(env), logPath: log, user }, onSpawn);
}

function server({ pid, port }: Running, folder: PostgresFolder, adopted: boolean): PostgresServer {
  return {
    url: urlOf({ password: folder.password, port }),
    port,
    pid,
    adopted,
    stop: () => endProcess(pid, stopSteps),
    kill: () => signal(pid, 'SIGKILL'),
  };
}
