import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOf } from './processes.js';

/** The process that holds a folder: its pid, and its start, since pids are reused. */
interface Holder {
  pid: number;
  start: string;
}

export type LockOutcome = { ok: true; release: () => void } | { ok: false; pid: number };

const attemptsMax = 5;

export function lockPath(dataFolder: string): string {
  return join(dataFolder, 'start.lock');
}

/** The pid of the process that has the lock and lives, if there is one. */
export function holderOf(path: string): number | undefined {
  const holder = readHolder(path);
  return holder && startOf(holder.pid) === holder.start ? holder.pid : undefined;
}

/**
 * Takes the lock file of a folder for this process, or says who has it. A lock whose process is gone is taken over. The
 * file is written under another name and then linked, which fails if there is a lock already: so it is never half
 * written, and of two processes at the same moment one wins.
 */
export function takeLock(path: string): LockOutcome {
  const own = `${path}.${process.pid}`;
  const me: Holder = { pid: process.pid, start: startOf(process.pid) ?? '' };
  writeFileSync(own, JSON.stringify(me));
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (link(own, path)) return { ok: true, release: releaseOf(path, me) };
      const pid = holderOf(path);
      if (pid !== undefined) return { ok: false, pid };
      removeStale(path, `${own}.stale`);
    }
    throw new Error(`The lock ${path} changes hands all the time.`);
  } finally {
    rmSync(own, { force: true });
  }
}

/** Releases it once, and only if it is still this process's: by then another start may hold the folder. */
function releaseOf(path: string, me: Holder): () => void {
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    const holder = readHolder(path);
    if (holder?.pid === me.pid && holder.start === me.start) rmSync(path, { force: true });
  };
}

/** Moves the lock aside first: if another start has put its own there since we looked, it is linked back. */
function removeStale(path: string, aside: string): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (holderOf(aside) !== undefined) link(aside, path);
  rmSync(aside);
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    const { pid, start } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Holder>;
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined;
  } catch {
    return undefined;
  }
}
