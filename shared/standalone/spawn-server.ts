import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beginLogAgainIfLarge } from './log-file.js';
import { runAs } from './server-user.js';
import type { ServerUser } from './server-user.js';

/** A server process that was just started. Whether it serves is for the caller to find out. */
export interface SpawnedServer {
  /** 0 if it could not even be started. */
  pid: number;
  isGone: () => boolean;
  /** The end of what it has logged so far, or why it could not be started; empty if there is nothing. */
  lastWords: () => Promise<string>;
}

const logTailBytes = 4_096;

/**
 * Starts a server whose output goes to a log file. It gets a session of its own, so that Ctrl-C does not reach it:
 * we end it, after those that use it have closed. It does not keep this process open.
 *
 * @param onSpawn told its pid at once
 */
export function spawnServer(
  file: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; logPath: string; user?: ServerUser | undefined },
  onSpawn: ((pid: number) => void) | undefined,
): SpawnedServer {
  const { cwd, env, logPath, user } = options;
  beginLogAgainIfLarge(logPath);
  const log = openSync(logPath, 'a', 0o600);
  try {
    const logStart = fstatSync(log).size;
    const child = spawn(file, args, {
      cwd,
      env,
      stdio: ['ignore', log, log],
      detached: true,
      ...runAs(user),
    });
    let isGone = child.pid === undefined;
    let problem = '';
    child.once('error', (error) => {
      isGone = true;
      problem = error.message;
    });
    child.once('exit', () => (isGone = true));
    child.unref();
    if (child.pid !== undefined) onSpawn?.(child.pid);
    const logged = () => readFileSync(logPath).subarray(logStart).subarray(-logTailBytes).toString('utf8').trim();
    const lastWords = async () => {
      // One that could not be started is gone at once, but why is only told after this turn.
      await nextTurn();
      return `${logged()}\n${problem}`.trim();
    };
    return { pid: child.pid ?? 0, isGone: () => isGone, lastWords };
  } finally {
    closeSync(log);
  }
}
