import { randomBytes } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { freePort, portOrFree } from './ports.js';
import { commandLine, endProcess, isAlive, signal, workingDirectory } from './processes.js';
import { configPath, logPath, readConfig, readPid, urlOf, writeConfig } from './redis-config.js';
import { readRedisFacts } from './redis-check.js';
import { findRedisProgram } from './redis-program.js';
import { redisEnv } from './redis-version.js';
import type { RedisProgram } from './redis-version.js';
import { sameFile } from './same-file.js';
import { spawnServer } from './spawn-server.js';
import type { SpawnedServer } from './spawn-server.js';

/** A running private Redis (or Valkey). It outlives this process unless it is stopped. */
export interface RedisServer {
  /** With its password. */
  url: string;
  port: number;
  pid: number;
  version: string;
  /** Where it came from, in words for a person. */
  source: string;
  adopted: boolean;
  /** Writes out what it holds and waits until it is gone, 13 s at most. */
  stop(): Promise<void>;
  /** SIGKILL: the crash, for tests. */
  kill(): void;
}

export interface RedisOptions {
  /** Its own folder; made when missing. */
  dir: string;
  /** Wanted, not promised: a busy port moves. Default: any free one. */
  port?: number;
  say: (line: string) => void;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  /** Told each server process as soon as it is there, long before it is ready. */
  onSpawn?: (pid: number) => void;
}

const readyMsMax = 20_000;
const adoptMsMax = 5_000;
const pollMs = 20;
const portAttemptsMax = 5;
const stopSteps = [
  { name: 'SIGTERM', msMax: 10_000 },
  { name: 'SIGKILL', msMax: 3_000 },
] as const;
/** For a server that does not answer: it hardly reacts to SIGTERM either, and its append-only file survives SIGKILL. */
const deafSteps = [
  { name: 'SIGTERM', msMax: 2_000 },
  { name: 'SIGKILL', msMax: 3_000 },
] as const;

/**
 * Starts the Redis of a folder, or takes over the one that already serves it: append-only file on, never evicts, on the
 * loopback only, with a random password. What an ordinary machine can have wrong comes back as a problem.
 */
export async function startRedis(options: RedisOptions): Promise<Outcome<RedisServer>> {
  const dir = resolve(options.dir);
  try {
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o700);
    // If this file is another user's, so is everything that Redis itself keeps here.
    if (existsSync(configPath(dir))) accessSync(configPath(dir), constants.R_OK | constants.W_OK);
  } catch (error) {
    return failed(`Redis cannot keep its data in ${dir}: ${(error as Error).message}. Set DATA_DIR to another folder.`);
  }
  const running = await adopt(dir, options.say);
  if (running) return { ok: true, value: running };
  const program = await findRedisProgram(options);
  return program.ok ? launch(options, dir, program.value) : program;
}

/**
 * The server that a killed start left behind, if it answers with our password and names our configuration file. If it
 * serves this folder and does not answer, it is ended: two servers would destroy the append-only file.
 */
async function adopt(dir: string, say: (line: string) => void): Promise<RedisServer | undefined> {
  const left = readConfig(dir);
  if (!left) return undefined;
  const url = urlOf(left);
  const deadlineAtMs = performance.now() + adoptMsMax;
  const leftPid = readPid(dir);
  do {
    const asked = await readRedisFacts(url);
    if (asked.ok && sameFile(asked.value.configFile, configPath(dir)) && !asked.value.loading) {
      const { version, pid } = asked.value;
      say(`Redis: taking over the one that an earlier start left running (process ${pid})`);
      return server({ url, port: left.port, pid, version, source: 'left running', adopted: true });
    }
    if (leftPid === undefined || !isOurs(leftPid, dir, left.port)) return undefined;
    await delay(pollMs);
  } while (performance.now() < deadlineAtMs);
  say(`Redis: process ${leftPid} serves this folder and does not answer; ending it`);
  await endProcess(leftPid, deafSteps);
  return undefined;
}

async function launch(options: RedisOptions, dir: string, program: RedisProgram): Promise<Outcome<RedisServer>> {
  let port = await portOrFree(options.port ?? 0);
  for (let attempt = 1; ; attempt += 1) {
    const config = { port, password: readConfig(dir)?.password ?? randomBytes(24).toString('base64url') };
    writeConfig(dir, config);
    const started = spawnServer(
      program.file,
      [configPath(dir)],
      { cwd: dir, env: redisEnv(program, options.env), logPath: logPath(dir) },
      options.onSpawn,
    );
    if (await becomesReady(started, urlOf(config))) {
      const source = program.source === 'PATH' ? program.file : 'the Debian package redis-tools, unpacked';
      return {
        ok: true,
        value: server({ pid: started.pid, version: program.version, port, url: urlOf(config), source, adopted: false }),
      };
    }
    const lastWords = await started.lastWords();
    if (!started.isGone()) await endProcess(started.pid, stopSteps);
    // The port was taken between the look and the start.
    if (/Address already in use/i.test(lastWords) && attempt < portAttemptsMax) {
      port = await freePort();
      continue;
    }
    return failed(`Redis did not start (${program.file}). Its log ${logPath(dir)} ends:\n${lastWords || '(nothing)'}`);
  }
}

async function becomesReady(started: SpawnedServer, url: string): Promise<boolean> {
  const deadlineAtMs = performance.now() + readyMsMax;
  while (!started.isGone() && performance.now() < deadlineAtMs) {
    const asked = await readRedisFacts(url);
    if (asked.ok && asked.value.pid === started.pid && !asked.value.loading) return true;
    await delay(pollMs);
  }
  return false;
}

/** Redis writes its address into its command line; where the system tells the working directory, that decides. */
function isOurs(pid: number, dir: string, port: number): boolean {
  if (!isAlive(pid)) return false;
  const at = workingDirectory(pid);
  return at === undefined ? commandLine(pid).includes(`127.0.0.1:${port}`) : sameFile(at, dir);
}

function server(facts: Omit<RedisServer, 'stop' | 'kill'>): RedisServer {
  const { pid } = facts;
  return { ...facts, stop: () => endProcess(pid, stopSteps), kill: () => signal(pid, 'SIGKILL') };
}
