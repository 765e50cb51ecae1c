import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterOwnTime } from '../time/own-time.js';

/**
 * A process that cannot end by itself must not outlive its test; `signal` tells that it was killed for that. In the
 * machine's own time: on a busy one, one that was still loading its modules was killed.
 */
const processMsMax = 30_000;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string[];
  stderr: string;
}

/** The address by which a script that `runShipped` runs imports a file of `dist/`. */
export function shipped(path: string): string {
  return new URL(`../../../dist/${path}`, import.meta.url).href;
}

/**
 * Runs a module's text in a Node process of its own, and tells how that ended: for tests of how a process ends. It is
 * to import what is shipped: a process under tsx has a second thread to end, which loads its modules, and one in CI did
 * not end by itself (killed after half a minute, or crashed: it was not seen which; nodejs/node#54918 is a known way).
 * `onLine` hears each line of its stdout at once; `stdout` is a file to write to instead.
 */
export async function runShipped(
  script: string,
  options: { env?: NodeJS.ProcessEnv; stdout?: number; onLine?: (line: string, child: ChildProcess) => void } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    env: options.env ?? process.env,
  });
  const takeBack = afterOwnTime(processMsMax, () => child.kill('SIGKILL'));
  const stdout: string[] = [];
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      stdout.push(line);
      options.onLine?.(line, child);
    });
  }
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code, signal] = (await once(child, 'close')) as [Ended['code'], Ended['signal']];
  takeBack();
  return { code, signal, stdout, stderr };
}
