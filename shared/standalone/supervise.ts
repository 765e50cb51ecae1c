import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { exitCodes } from '../runtime/exit-codes.js';
import { heapArguments } from '../runtime/heap.js';
import { openLogFile } from './log-file.js';
import type { LogFile } from './log-file.js';
import { endProcess, signal } from './processes.js';
import { restartPauseMs } from './restart-pause.js';

/** What a process says over its IPC channel once it serves: the API with its port, the worker without. */
export interface ReadyReport {
  port?: number;
}

export interface Supervised {
  /** Resolves when it first serves; rejects if it cannot be brought to, or is stopped before. */
  ready: Promise<ReadyReport>;
  pid(): number | undefined;
  /** SIGTERM, and SIGKILL after 25 s (the API forces itself after 20 s). It is not started again. */
  stop(): Promise<void>;
  /** SIGKILL, at once: for a process that is about to exit. */
  kill(): void;
}

export interface SuperviseOptions {
  name: string;
  /** The JavaScript file of the process's entry. */
  script: string;
  env: NodeJS.ProcessEnv;
  logPath: string;
  /** Told what is worth a person's attention, a line each: warnings and worse, what is not JSON, ends and starts. */
  print: (line: string) => void;
}

interface State {
  options: SuperviseOptions;
  log: LogFile;
  child: ChildProcess | undefined;
  timer: NodeJS.Timeout | undefined;
  stopping: boolean;
  served: boolean;
  failures: number;
  lastLines: string[];
  settle: { resolve: (report: ReadyReport) => void; reject: (error: Error) => void };
}

const stopSteps = [
  { name: 'SIGTERM', msMax: 25_000 },
  { name: 'SIGKILL', msMax: 3_000 },
] as const;
/** If a process lived this long, its end counts as the first again. */
const stableMs = 30_000;
const firstAttemptsMax = 3;
const lastLinesMax = 20;

/**
 * Runs a Node process of ours and starts it again when it ends by itself, after 0.25 s, 0.5 s … 5 s.
 *
 * It must not outlive us, even when we are killed with −9 and can tell it nothing: so it gets an IPC channel, which the
 * kernel closes with us, and ends itself on `disconnect`. (A parent-death signal is Linux only, and Node cannot set
 * one; watching the parent's pid means polling.) It is in a session of its own, so that Ctrl-C reaches it through us,
 * in order.
 */
export function supervise(options: SuperviseOptions): Supervised {
  let settle: State['settle'] | undefined;
  const ready = new Promise<ReadyReport>((resolve, reject) => (settle = { resolve, reject }));
  // The caller may be awaiting something else when this rejects, and learns of it later.
  ready.catch(() => undefined);
  const state: State = {
    options,
    log: openLogFile(options.logPath),
    child: undefined,
    timer: undefined,
    stopping: false,
    served: false,
    failures: 0,
    lastLines: [],
    settle: settle as unknown as State['settle'],
  };
  launch(state);
  return {
    ready,
    pid: () => state.child?.pid,
    stop: () => stop(state),
    kill: () => {
      state.stopping = true;
      clearTimeout(state.timer);
      if (state.child?.pid) signal(state.child.pid, 'SIGKILL');
    },
  };
}

function launch(state: State): void {
  const { options } = state;
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, ['--enable-source-maps', ...heapArguments, options.script], {
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  state.child = child;
  for (const stream of [child.stdout, child.stderr]) if (stream) follow(state, stream);
  child.on('message', (message) => {
    const report = asReady(message);
    if (!report) return;
    state.served = true;
    state.settle.resolve(report);
  });
  child.once('error', (error) => options.print(`could not be started: ${error.message}`));
  // 'close' comes after the last line of output was read, 'exit' may come before.
  child.once('close', (code, name) => {
    state.child = undefined;
    if (!state.stopping) again(state, name ?? `code ${String(code)}`, code, performance.now() - startedAtMs);
  });
}

function again(state: State, how: string, code: number | null, livedMs: number): void {
  const { options } = state;
  state.failures = livedMs > stableMs ? 1 : state.failures + 1;
  if (!state.served && (code === exitCodes.config || state.failures >= firstAttemptsMax)) {
    state.stopping = true;
    state.log.close();
    state.settle.reject(new Error(`${options.name} does not start (${how}). It said:\n${state.lastLines.join('\n')}`));
    return;
  }
  const waitMs = restartPauseMs(state.failures);
  options.print(`ended by itself (${how}); starting it again in ${waitMs} ms`);
  state.timer = setTimeout(() => launch(state), waitMs);
}

async function stop(state: State): Promise<void> {
  if (state.stopping && !state.child) return;
  state.stopping = true;
  clearTimeout(state.timer);
  state.settle.reject(new Error(`${state.options.name} was stopped before it served`));
  const { child } = state;
  if (child?.pid) {
    const closed = new Promise((resolve) => child.once('close', resolve));
    await endProcess(child.pid, stopSteps);
    await closed;
  }
  state.log.close();
}

/**
 * Everything goes to the log file as it is; to the terminal only what a person wants to see among the progress. pino
 * writes the level first (`{"level":40,`), so most lines are told apart without parsing them.
 */
function follow(state: State, stream: Readable): void {
  createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => {
    state.log.write(`${line}\n`);
    state.lastLines.push(line);
    if (state.lastLines.length > lastLinesMax) state.lastLines.shift();
    if (!/^\{"level":[123]0,/.test(line)) state.options.print(line);
  });
}

function asReady(message: unknown): ReadyReport | undefined {
  if (typeof message !== 'object' || message === null || !('type' in message)) return undefined;
  if (message.type !== 'ready') return undefined;
  return 'port' in message && typeof message.port === 'number' ? { port: message.port } : {};
}
