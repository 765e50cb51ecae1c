import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { rememberOpen } from '../support/processes/cleanup.js';
import { until } from '../support/time/until.js';
import type { CallMessage, ChildMessage } from './parent-channel.js';

/** A process of our own that answers calls. */
export interface AnsweringProcess {
  pid: number;
  /** Where it listens, if it does. */
  port: number;
  /**
   * @param msMax after which the call has failed
   * @throws what the process answered, its end, or the wait
   */
  call<T>(name: string, argument: unknown, msMax: number, onEvent?: (event: unknown) => void): Promise<T>;
  /** Its last lines. */
  logs(): string[];
  stop(): Promise<void>;
}

export interface AnsweringOptions {
  name: string;
  script: string;
  env: Record<string, string | undefined>;
  /** Node's; by default those with which an error leads into our sources. */
  nodeArguments?: readonly string[];
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  onEvent: ((event: unknown) => void) | undefined;
}

interface State {
  lines: string[];
  calls: Map<number, Pending>;
  ready: Extract<ChildMessage, { type: 'ready' }> | undefined;
  hasExited: boolean;
  /** How it ended, and its last lines. */
  end: string;
}

const readyMsMax = 20_000;
const endMsMax = 5_000;
const logLinesMax = 50;

/** Starts a compiled script with an IPC channel and waits until it says it serves. */
export async function startAnsweringProcess(options: AnsweringOptions): Promise<AnsweringProcess> {
  const { name, script, env, nodeArguments = ['--enable-source-maps'] } = options;
  // None of Node's arguments for this process: it runs under tsx, and its children must not.
  const child = spawn(process.execPath, [...nodeArguments, script], {
    env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const state: State = { lines: [], calls: new Map(), ready: undefined, hasExited: false, end: '' };
  const exited = watch(name, child, state);
  const kill = () => void child.kill('SIGKILL');
  const close = async () => {
    kill();
    await exited;
  };
  void exited.then(rememberOpen({ name, forWholeRun: false, close, closeNow: kill }));
  await until(() => state.ready !== undefined || state.hasExited, { deadlineMs: readyMsMax, what: `${name} to serve` });
  if (state.ready === undefined) throw new Error(`Before it served, ${state.end}`);

  const call = createCall(name, child, state);
  return {
    pid: child.pid ?? 0,
    port: state.ready.port ?? 0,
    call,
    logs: () => [...state.lines],
    stop: async () => {
      if (state.hasExited) return;
      // It has nothing to save. Closing the channel would end it as well, but Node then never emits `close` for it
      // here.
      child.kill('SIGTERM');
      await until(() => state.hasExited, { deadlineMs: endMsMax, what: `${name} to end` });
    },
  };
}

function watch(name: string, child: ChildProcess, state: State): Promise<void> {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      state.lines.push(line);
      if (state.lines.length > logLinesMax) state.lines.shift();
    });
  }
  child.on('message', (message: ChildMessage) => {
    if (message.type === 'ready') {
      state.ready = message;
      return;
    }
    const pending = state.calls.get(message.call);
    if (message.type === 'event') pending?.onEvent?.(message.event);
    else if (message.type === 'answer') pending?.resolve(message.value);
    else pending?.reject(new Error(message.message));
  });
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      state.hasExited = true;
      state.end = [`${name} ended with ${String(signal ?? code)}.`, ...state.lines].join('\n');
      for (const { reject } of state.calls.values()) reject(new Error(state.end));
      resolve();
    });
  });
}

function createCall(processName: string, child: ChildProcess, state: State): AnsweringProcess['call'] {
  let calls = 0;
  return async <T>(name: string, argument: unknown, msMax: number, onEvent?: (event: unknown) => void): Promise<T> => {
    const message: CallMessage = { call: (calls += 1), name, argument };
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`${processName}: no answer to ${name} in ${msMax} ms`)), msMax);
        state.calls.set(message.call, { resolve: resolve as Pending['resolve'], reject, onEvent });
        if (state.hasExited) reject(new Error(state.end));
        else child.send(message);
      });
    } finally {
      clearTimeout(timer);
      state.calls.delete(message.call);
    }
  };
}
