import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresFolder } from './postgres-folder.js';
import { answersAsPostgres, readPidFile } from './postgres-probe.js';

/** Three times as long as Postgres is silent while it replays its log (log_startup_progress_interval). */
const silenceMsMax = 30_000;
/**
 * What it says before it writes to its tables what it has replayed, and then nothing until it is done. That may be half
 * a gigabyte, and whoever ends it meanwhile makes the next start begin anew.
 */
const lastWords = /checkpoint starting: end-of-recovery[^\n]*\n$/;
const lastWordsBytes = 1_024;
/** For a server that says it is ready: it has nothing left to wait for. */
const answerMsMax = 5_000;
/** A start that takes longer is explained. */
const tellAfterMs = 3_000;
const pollMs = 20;

/** A server process, ours or one that an earlier start left running. */
interface Starting {
  pid: number;
  isGone: () => boolean;
}

export interface Patience {
  say: (line: string) => void;
  /** Ends the wait. */
  signal?: AbortSignal;
  /** How long a server that starts may be silent before it counts as hanging. */
  startSilenceMsMax?: number;
}

/**
 * Waits for a server to answer; in a recovery, for as long as its log grows, or it writes the last of it.
 *
 * @returns its port; undefined if it is gone, has been silent for too long, or `signal` is aborted
 */
export async function untilReady(
  { pid, isGone }: Starting,
  { cluster, log }: PostgresFolder,
  { say, signal, startSilenceMsMax = silenceMsMax }: Patience,
): Promise<number | undefined> {
  const startedAtMs = performance.now();
  let [sign, signAtMs, isTold]: [unknown, number, boolean] = [undefined, startedAtMs, false];
  for (;;) {
    const file = readPidFile(cluster);
    const readyPort = file?.pid === pid ? file.readyPort : undefined;
    if (readyPort !== undefined && (await answersAsPostgres(readyPort))) return readyPort;
    const nowMs = performance.now();
    const isStarting = readyPort === undefined;
    const newest = isStarting ? sizeOf(log) : 'ready';
    if (newest !== sign) [sign, signAtMs] = [newest, nowMs];
    const isSilent = nowMs - signAtMs > (isStarting ? startSilenceMsMax : answerMsMax);
    const isHanging = isSilent && !(isStarting && lastWords.test(endOf(log)));
    if (isGone() || isHanging || signal?.aborted === true) return undefined;
    if (isStarting && !isTold && nowMs - startedAtMs > tellAfterMs) {
      say(`Postgres: at work on what it had not yet written to its tables; ${log} tells how far it is`);
      isTold = true;
    }
    await delay(pollMs);
  }
}

function endOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const end = Buffer.alloc(lastWordsBytes);
    const read = readSync(file, end, 0, end.length, Math.max(0, sizeOf(path) - end.length));
    return end.toString('latin1', 0, read);
  } finally {
    closeSync(file);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
