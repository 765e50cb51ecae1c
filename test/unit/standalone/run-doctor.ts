import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../../../dist/shared/standalone/doctor.js', import.meta.url));

export interface Diagnosis {
  code: number | null;
  output: string;
  /** What was said of each thing: its verdict, a blank, and the first line of the rest. */
  lines: Map<string, string>;
}

/** Runs the built doctor with this environment, and little else. */
export function startDoctor(
  env: Record<string, string | undefined>,
  args: readonly string[] = [],
  built = entry,
): ChildProcessByStdio<null, Readable, Readable> {
  const given = { PATH: process.env.PATH, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, ...env };
  return spawn(process.execPath, [built, ...args], { env: given, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
}

/** As `startDoctor`, to its end. */
export function doctor(
  env: Record<string, string | undefined>,
  args: readonly string[] = [],
  built = entry,
): Promise<Diagnosis> {
  const child = startDoctor(env, args, built);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const said = [...output.matchAll(/^(ok |but|NO ) {2}(.{12}) (.*)$/gm)];
      const lines = new Map(said.map(([, verdict, name, text]) => [name!.trim(), `${verdict!.trim()} ${text!}`]));
      resolve({ code, output, lines });
    });
  });
}
