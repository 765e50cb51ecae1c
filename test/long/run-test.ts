import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../support/long-run/counting.js';
import { grepOf } from './find-tests.js';
import type { LongTest } from './find-tests.js';
import { readTallyFile } from './tally-file.js';
import type { Told } from './tally-file.js';

export interface RunOptions {
  seed: number;
  size: number | undefined;
  minutes: number | undefined;
  /** Ends the run where it stands. */
  signal: AbortSignal;
  say: (line: string) => void;
}

export type Verdict = 'passed' | 'failed' | 'hung' | 'out of time' | 'stopped';

export interface RunResult extends Told {
  test: LongTest;
  verdict: Verdict;
  durationMs: number;
}

const lookEveryMs = 250;
const sayEveryMs = 5_000;
/**
 * A test that shows its progress hangs when it shows none for so long: the longest wait, a lease and a restart in a
 * row.
 */
const silenceMsMax = 120_000;
/** A test that shows none is given more than the longest such test takes, ten minutes of overload. */
const silenceMsMaxUntold = 15 * 60_000;
/** What a test may take beyond `--minutes` to end its round and judge it. */
export const judgeMsMax = 120_000;
/** What it may then take to end what it has started, before it is killed. */
const endMsMax = 10_000;
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs one test at its large size, as mocha runs it in `npm test`, and shows how far it is. */
export async function runTest(test: LongTest, options: RunOptions): Promise<RunResult> {
  const tallyPath = join(tmpdir(), `raw-materials-tally-${String(process.pid)}-${test.name}`);
  await rm(tallyPath, { force: true });
  const startMs = performance.now();
  const child = startMocha(test, tallyPath, options);
  let life = startMs;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      life = performance.now();
      process.stdout.write(chunk);
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  let told = readTallyFile(tallyPath);
  let saidMs = startMs;
  let cut: Verdict | undefined;
  const minutesMs = options.minutes === undefined ? Infinity : options.minutes * 60_000;
  while (isRunning() && cut === undefined) {
    await Promise.race([exited, delay(lookEveryMs)]);
    const nowMs = performance.now();
    const before = JSON.stringify(told);
    told = readTallyFile(tallyPath);
    if (JSON.stringify(told) !== before) life = nowMs;
    const showsProgress = told.progress !== undefined || told.tallies.length > 0;
    if (nowMs - life > (showsProgress ? silenceMsMax : silenceMsMaxUntold)) cut = 'hung';
    else if (nowMs - startMs > msMaxOf(told, minutesMs)) cut = 'out of time';
    else if (options.signal.aborted) cut = 'stopped';
    if (nowMs - saidMs > sayEveryMs && told.progress !== undefined) {
      saidMs = nowMs;
      options.say(progressLine(test, told.progress, nowMs - startMs));
    }
  }
  if (cut !== undefined) await end(child, exited);
  const code = await exited;
  told = readTallyFile(tallyPath);
  await rm(tallyPath, { force: true });
  // A Ctrl-C reaches mocha as well, which may be gone before it is seen here.
  const ended = options.signal.aborted ? 'stopped' : code === 0 ? 'passed' : 'failed';
  return { ...told, test, verdict: cut ?? ended, durationMs: performance.now() - startMs };
}

/** Each thing that a test counts has the time of `--minutes` for itself, one after the other, and leaves a tally. */
export function msMaxOf({ tallies }: Pick<Told, 'tallies'>, minutesMs: number): number {
  return (tallies.length + 1) * (minutesMs + judgeMsMax);
}

function startMocha(test: LongTest, tallyPath: string, { seed, size, minutes }: RunOptions): ChildProcess {
  // Given to mocha.js, --import would put a process in between that passes on neither SIGTERM nor its own end.
  const mocha = ['--import', 'tsx', join('node_modules', 'mocha', 'bin', 'mocha.js'), '--no-package', '--no-config'];
  // The watchdog here takes the place of mocha's timeouts, which are made for the small sizes.
  const settings = ['--require', 'test/support/hooks.ts', '--forbid-only', '--forbid-pending', '--timeout', '0'];
  return spawn(
    process.execPath,
    [...mocha, ...settings, '--grep', grepOf(test), ...test.parts.map(({ file }) => file)],
    {
      cwd: root,
      env: {
        ...process.env,
        TEST_LONG: '1',
        TEST_TALLY: tallyPath,
        TEST_SEED: String(seed),
        ...(size !== undefined && { TEST_SIZE: String(size) }),
        ...(minutes !== undefined && { TEST_MINUTES: String(minutes) }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
}

/** SIGTERM lets it end what it has started; one that is stuck is killed. */
async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), endMsMax);
  await exited;
  clearTimeout(force);
}

function progressLine({ name }: LongTest, { unit, made, of }: Progress, elapsedMs: number): string {
  const aSecond = made / (elapsedMs / 1_000);
  const leftMinutes = made === 0 ? '?' : ((of - made) / aSecond / 60).toFixed(1);
  const rate = aSecond >= 10 ? aSecond.toFixed(0) : aSecond.toFixed(2);
  return `${name}: ${String(made)} of ${String(of)} ${unit}, ${rate}/s, ${leftMinutes} min to go`;
}
