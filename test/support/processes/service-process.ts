import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { heapArguments } from '../../../shared/runtime/heap.js';
import { rememberOpen } from './cleanup.js';
import { endNow } from './end-now.js';
import { addExitProblem } from './exit-problems.js';
import { failPointArguments } from '../fail-points/fail-points.js';
import type { FailPointHit, GoneOn } from '../fail-points/fail-points.js';
import { until } from '../time/until.js';

export type Env = Record<string, string | undefined>;

/** One process of the service under test. */
export interface Proc {
  name: string;
  pid: number;
  /** The port an API listens on. */
  port?: number;
  baseUrl?: string;
  /** Where its ADMIN_PORT is set. */
  adminUrl?: string;
  kill(signal: NodeJS.Signals): void;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  hasExited: () => boolean;
  /** Whether it has ended without being told to, by a signal of the test or a fail-point that kills. */
  hasEndedByItself: () => boolean;
  /** Its last 200 lines. */
  logs(): string[];
  /** Hears every line from now on. */
  onLine(hear: (line: string) => void): void;
  /** Every pass through an armed fail-point so far. */
  hits(): readonly FailPointHit[];
  /** Resolves with the pass that fired; fails when the point is not reached in time. */
  fired(name: string, deadlineMs?: number): Promise<FailPointHit>;
  /** Lets it go on that a fail-point has stopped. SIGCONT alone may come before the stop, which follows what `fired` hears. */
  goOn(): Promise<void>;
}

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

interface ReadyMessage {
  type: 'ready';
  /** An API's. */
  port?: number;
  adminPort?: number;
}

/** What is known of a process so far. */
interface Seen {
  lines: string[];
  hits: FailPointHit[];
  /** How often it has gone on after a fail-point that stops. */
  goneOn: number;
  ready: ReadyMessage | undefined;
  end: Ended | undefined;
}

const readyMsMax = 20_000;
/** Above the API's own bound (SHUTDOWN_TIMEOUT_MS, 20 s). */
const stopMsMax = 25_000;
const killMsMax = 5_000;
/** Below the bounds at which one that is stuck forces its own end: 20 s, and 8 s for a worker. */
const endMsMax = { api: 15_000, worker: 6_000 };
const firedMsMax = 20_000;
const logLinesMax = 200;
/** Signals that end no process. */
const passingSignals = new Set<NodeJS.Signals>(['SIGSTOP', 'SIGCONT', 'SIGUSR2']);

interface Watched {
  kind: 'api' | 'worker';
  forWholeRun: boolean;
}

/**
 * Starts `dist/api/main.js` or `dist/worker/main.js` with exactly this environment, and waits until it says it serves.
 */
export async function startProcess(kind: 'api' | 'worker', env: Env, { forWholeRun = false } = {}): Promise<Proc> {
  const script = fileURLToPath(new URL(`../../../dist/${kind}/main.js`, import.meta.url));
  if (!existsSync(script)) throw new Error(`dist/${kind}/main.js is missing: npm run build`);
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  const args = [...heapArguments, ...failPointArguments(env.FAIL_POINTS), script];
  const child = spawn(process.execPath, args, {
    env: given,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const seen: Seen = { lines: [], hits: [], goneOn: 0, ready: undefined, end: undefined };
  const proc = watch(child, { kind, forWholeRun }, seen);
  const said = () => `${proc.name} said:\n${seen.lines.join('\n')}`;
  try {
    await until(() => seen.ready !== undefined || seen.end !== undefined, {
      deadlineMs: readyMsMax,
      what: () => `${proc.name} to be ready; ${said()}`,
    });
  } catch (error) {
    child.kill('SIGKILL');
    await proc.exited;
    throw error;
  }
  if (!seen.ready) throw new Error(`${proc.name} ended (${JSON.stringify(seen.end)}) before it was ready; ${said()}`);
  const { port, adminPort } = seen.ready;
  if (adminPort !== undefined) proc.adminUrl = `http://127.0.0.1:${String(adminPort)}`;
  if (port !== undefined) Object.assign(proc, { port, baseUrl: `http://127.0.0.1:${String(port)}` });
  return proc;
}

/** @throws with its last lines, if a process has ended by itself: nothing that a test does to its servers may end it */
export function expectNotEndedByItself(proc: Proc): void {
  if (!proc.hasEndedByItself()) return;
  throw new Error(`${proc.name} ended by itself; it said:\n${proc.logs().slice(-20).join('\n')}`);
}

/**
 * Sends SIGTERM; fails, with its last lines, if it must be killed after 25 s, its code is not 0 (forced: a leak), or it
 * had ended by itself before.
 */
export async function stopProcess(proc: Proc): Promise<void> {
  expectNotEndedByItself(proc);
  if (proc.hasExited()) return;
  // One that a test has stopped would not hear SIGTERM.
  proc.kill('SIGCONT');
  proc.kill('SIGTERM');
  const said = () => `it said:\n${proc.logs().join('\n')}`;
  try {
    await until(proc.hasExited, { deadlineMs: stopMsMax, what: () => `${proc.name} to end on SIGTERM; ${said()}` });
  } catch (error) {
    proc.kill('SIGKILL');
    await until(proc.hasExited, { deadlineMs: killMsMax, what: `${proc.name} to end on SIGKILL` });
    throw error;
  }
  const { code, signal } = await proc.exited;
  if (code !== 0) throw new Error(`${proc.name} did not end clean (${signal ?? `code ${String(code)}`}); ${said()}`);
}

function watch(child: ChildProcess, { kind, forWholeRun }: Watched, seen: Seen): Proc {
  const name = `${kind} ${String(child.pid)}`;
  const hearers: ((line: string) => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      addLine(seen.lines, line);
      for (const hear of hearers) hear(line);
    });
  }
  child.on('message', (message: ReadyMessage | FailPointHit | GoneOn) => {
    if (message.type === 'fail-point') seen.hits.push(message);
    else if (message.type === 'gone-on') seen.goneOn += 1;
    else seen.ready = message;
  });
  child.once('error', (error) => addLine(seen.lines, error.message));
  const exited = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve((seen.end = { code, signal })));
  });
  let isTold = false;
  const kill = (by: NodeJS.Signals) => {
    isTold ||= !passingSignals.has(by);
    child.kill(by);
  };
  const wasKilledAtPoint = () => seen.end?.signal === 'SIGKILL' && seen.hits.some(({ fires }) => fires);
  const close = async () => {
    kill('SIGKILL');
    await exited;
  };
  const closeNow = () => {
    // If it ends by itself, it also tells what of its code has run (`npm run test:coverage`).
    if (!forWholeRun || child.pid === undefined) kill('SIGKILL');
    else if (!endNow(child.pid, 'SIGTERM', endMsMax[kind])) addExitProblem(`${name} did not end on SIGTERM`);
  };
  void exited.then(rememberOpen({ name, forWholeRun, close, closeNow }));
  return {
    name,
    pid: child.pid ?? 0,
    kill,
    exited,
    hasExited: () => seen.end !== undefined,
    hasEndedByItself: () => seen.end !== undefined && !isTold && !wasKilledAtPoint(),
    logs: () => [...seen.lines],
    onLine: (hear) => void hearers.push(hear),
    hits: () => seen.hits,
    fired: (point, deadlineMs = firedMsMax) =>
      until(() => seen.hits.find((hit) => hit.name === point && hit.fires), {
        deadlineMs,
        what: () => `fail-point ${point}; ${name} said:\n${seen.lines.join('\n')}`,
      }),
    goOn: async () => {
      const goneOnBefore = seen.goneOn;
      const hasGoneOn = () => {
        kill('SIGCONT');
        return seen.goneOn > goneOnBefore;
      };
      await until(hasGoneOn, { deadlineMs: firedMsMax, what: `${name} to go on` });
    },
  };
}

function addLine(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > logLinesMax) lines.shift();
}
