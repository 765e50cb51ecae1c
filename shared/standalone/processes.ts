import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 20;
const psMsMax = 2_000;

/**
 * Whether a process runs. A zombie does not: in a container whose first process reaps nothing it would "live" for ever.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** Ended, but not yet reaped by its parent: signals still find it. */
export function isZombie(pid: number): boolean {
  return statFields(pid)?.[0] === 'Z';
}

/**
 * What tells this process from a later one with the same number: pids are reused, in a container within a minute.
 * `undefined` when it does not run.
 */
export function startOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  // Field 22, in ticks since boot.
  return statFields(pid)?.[19] ?? ps(pid, 'lstart=');
}

/** The words a process was started with, joined by spaces; empty when it does not run. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return ps(pid, 'args=') ?? '';
  }
}

/** The working directory of a process, where the system tells (Linux, and then only one's own or as root). */
export function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** The fields of /proc/<pid>/stat from the third on (proc_pid_stat(5)); `undefined` without one, as on macOS. */
export function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may itself hold spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Sends a signal; it is no error if the process is gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns a function that signals this process later, but does nothing if it is gone, even if its pid was reused. */
export function signalLater(pid: number, name: NodeJS.Signals, startNow = startOf): () => void {
  const start = startNow(pid);
  return () => {
    if (start !== undefined && startNow(pid) === start) signal(pid, name);
  };
}

/** Waits until a process is gone. It polls, so that it also works for one that is not our child (adopted). */
export async function waitForExit(pid: number, msMax: number): Promise<boolean> {
  const deadlineAtMs = performance.now() + msMax;
  while (isAlive(pid)) {
    if (performance.now() > deadlineAtMs) return false;
    await delay(pollMs);
  }
  return true;
}

/** Asks a process to end, waits, and goes on to the next, harsher signal. Resolves when it is gone. */
export async function endProcess(
  pid: number,
  steps: readonly { name: NodeJS.Signals; msMax: number }[],
): Promise<void> {
  for (const { name, msMax } of steps) {
    signal(pid, name);
    if (await waitForExit(pid, msMax)) return;
  }
  throw new Error(`Process ${pid} does not end (${steps.map(({ name }) => name).join(', then ')}).`);
}

export interface Command {
  file: string;
  args: readonly string[];
  msMax: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  signal?: AbortSignal | undefined;
  /** Told its pid at once, for where this process must exit without waiting for it. */
  onSpawn?: ((pid: number) => void) | undefined;
}

/**
 * Runs a command to its end. `code` is null when it could not be started, was stopped, or was out of time. It leads a
 * process group, and the group is ended with it: apt-get's helpers would otherwise live on and hold its output open.
 */
export async function runCommand(command: Command): Promise<{ code: number | null; output: string }> {
  const { file, args, msMax, signal: abort, onSpawn, ...options } = command;
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const chunks: string[] = [];
  const endGroup = (why: string) => {
    chunks.push(`\n${why}`);
    if (child.pid !== undefined) signal(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(endGroup, msMax, `ended after ${msMax} ms`);
  const onAbort = () => endGroup('stopped');
  abort?.addEventListener('abort', onAbort, { once: true });
  // As between two commands: of what has happened already a listener hears nothing.
  if (abort?.aborted === true) onAbort();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  }
  child.once('error', (error) => chunks.push(error.message));
  if (child.pid !== undefined) onSpawn?.(child.pid);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  abort?.removeEventListener('abort', onAbort);
  // If there is no such program, the child closes with a negative errno.
  return { code: code !== null && code >= 0 ? code : null, output: chunks.join('').trim() };
}

function ps(pid: number, field: string): string | undefined {
  try {
    const text = execFileSync('ps', ['-o', field, '-p', String(pid)], { encoding: 'utf8', timeout: psMsMax }).trim();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
