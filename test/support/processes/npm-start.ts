import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Demo } from '../../../shared/standalone/demo-file.js';
import { rememberOpen } from './cleanup.js';
import { until } from '../time/until.js';

/** A run of what `npm start` runs. */
export interface Started {
  pid: number;
  kill(signal: NodeJS.Signals): void;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  output(): string;
  /** `.data/demo.json`, once it is there. */
  ready(): Promise<Demo>;
}

const readyMsMax = 30_000;

const script = fileURLToPath(new URL('../../../dist/shared/standalone/main.js', import.meta.url));

/** Runs the built `npm start` on a data folder; `env` is added to the little that every program needs. */
export function npmStart(dataDir: string, env: Record<string, string> = {}): Started {
  return start([process.execPath, script], dataDir, env);
}

/** As `npmStart`, behind a shell, as npm runs it: signals go to the shell, and its end is what `exited` says. */
export function npmStartBehindShell(dataDir: string): Started {
  // Not the last command, or some shells would replace themselves by it.
  const command = ['/bin/sh', '-c', '"$0" "$1"; exit', process.execPath, script];
  // Variables that a user has set for another server must not keep it from its own.
  return start(command, dataDir, { npm_lifecycle_event: 'start', PGSSLMODE: 'require', PGOPTIONS: '-c search_path=x' });
}

function start([file = '', ...args]: string[], dataDir: string, env: Record<string, string>): Started {
  const { PATH, HOME } = process.env;
  const child = spawn(file, args, {
    env: { PATH, HOME, DATA_DIR: dataDir, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let isOver = false;
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      isOver = true;
      resolve({ code, signal });
    });
  });
  const stop = () => void child.kill('SIGTERM');
  const close = async () => {
    stop();
    await exited;
  };
  void exited.then(rememberOpen({ name: 'npm start', forWholeRun: false, close, closeNow: stop }));
  const demoFile = join(dataDir, 'demo.json');
  return {
    pid: child.pid ?? 0,
    kill: (signal) => void child.kill(signal),
    exited,
    output: () => output,
    ready: async () => {
      await until(() => isOver || existsSync(demoFile), {
        deadlineMs: readyMsMax,
        what: () => `demo.json; it said:\n${output}`,
      });
      if (isOver) throw new Error(`npm start ended; it said:\n${output}`);
      return JSON.parse(readFileSync(demoFile, 'utf8')) as Demo;
    },
  };
}
