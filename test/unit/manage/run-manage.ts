import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { pipeline, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { manageSettings, runCommandLine } from '../../../shared/manage/command-line.js';
import type { CommandProcess } from '../../../shared/manage/run-command.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import { connectForTest } from '../../support/database/database.js';
import { afterOwnTime } from '../../support/time/own-time.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { createTestDatabase } from '../../support/processes/servers.js';

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** What is piped into a command. */
export type Input = string | Iterable<string> | AsyncIterable<string>;

const entry = fileURLToPath(new URL('../../../dist/shared/manage/main.js', import.meta.url));
const runMsMax = 30_000;

/** A run that is under way. */
export interface StartedRun {
  child: ChildProcess;
  ended: Promise<Run>;
}

/**
 * Runs the built command line as an operator does, in a process of its own. The environment holds nothing of ours but
 * what is given.
 */
export function runManage(args: readonly string[], env: Record<string, string> = {}, input: Input = ''): Promise<Run> {
  return startManage(args, env, input).ended;
}

/** As `runManage`, for one that is to be ended before its time. @param output files in place of pipes */
export function startManage(
  args: readonly string[],
  env: Record<string, string> = {},
  input: Input = '',
  { stdout = 'pipe', stderr = 'pipe' }: { stdout?: 'pipe' | number; stderr?: 'pipe' | number } = {},
): StartedRun {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', stdout, stderr],
  });
  const run: Run = { code: null, stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (run.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
  // A command that does not read its input may be gone before all of it is written.
  if (child.stdin !== null) pipeline(Readable.from(input), child.stdin, () => undefined);
  const takeBack = afterOwnTime(runMsMax, () => child.kill('SIGKILL'));
  const ended = new Promise<Run>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      takeBack();
      resolve({ ...run, code });
    });
  });
  return { child, ended };
}

/**
 * As `runManage`, but in this process, which has loaded the code already: a start costs more than nearly every command.
 * The input is not asked for anything before the command reads its stdin.
 *
 * @param env with the DATABASE_URL, so that nothing is looked for in the environment of this process
 */
async function runHere(args: readonly string[], env: Record<string, string>, input: Input): Promise<Run> {
  const settings = readSettings(manageSettings, env);
  if (!settings.ok) throw new Error(settings.problems.join('\n'));
  const [stdout, stderr] = [collect(), collect()];
  const process: CommandProcess = {
    stdin: Readable.from(input, { objectMode: false }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env,
    exitCode: undefined,
    on: () => undefined,
    exit: (code) => {
      throw new Error(`exit ${String(code)}`);
    },
  };
  await runCommandLine(args, settings.values, process);
  return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
}

function collect(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}

export interface Cli {
  run: (args: string[], env?: Record<string, string>, input?: Input) => Promise<Run>;
  /** What a successful command prints with --json: one document and nothing else. */
  answer: <T>(args: string[], env?: Record<string, string>, input?: Input) => Promise<T>;
  /** What a failing command says on stderr; of `--json` the one document says it too. */
  refusal: (args: string[], env?: Record<string, string>, input?: Input) => Promise<string>;
  /** Likewise where the arguments alone are wrong. */
  misuse: (args: string[], env?: Record<string, string>) => Promise<string>;
}

/** The command line with a standing environment, in this process. */
export function createCli(standing: { DATABASE_URL: string } & Record<string, string>): Cli {
  const run: Cli['run'] = (args, env, input = '') => runHere(args, { ...standing, ...env }, input);
  const refused = async (wanted: number, args: string[], env?: Record<string, string>, input?: Input) => {
    const { code, stdout, stderr } = await run([...args, '--json'], env, input);
    expect(code, stderr).to.equal(wanted);
    expect(stdout.split('\n')).to.have.lengthOf(2);
    const { error } = JSON.parse(stdout) as { error: { message: string } };
    expect(stderr).to.contain(`${error.message}\n`);
    return stderr.trim();
  };
  return {
    run,
    answer: async <T>(args: string[], env?: Record<string, string>, input?: Input) => {
      // A command that takes a second says how far it is, and on a machine that stands still any of them takes that.
      const clock = slowClock(1_000);
      const { code, stdout, stderr } = await run([...args, '--json'], env, input).finally(() => clock.restore());
      expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout.split('\n')).to.have.lengthOf(2);
      return JSON.parse(stdout) as T;
    },
    refusal: (args, env, input) => refused(1, args, env, input),
    misuse: (args, env) => refused(64, args, env),
  };
}

/** A database with a shop of two locations, and the command line on it. */
export interface ManagedShop {
  databaseUrl: string;
  database: Database;
  cli: Cli;
  shopId: string;
  close: () => Promise<void>;
}

export async function openManagedShop(env: Record<string, string> = {}): Promise<ManagedShop> {
  const testDatabase = await createTestDatabase();
  const database = connectForTest(testDatabase.url);
  const cli = createCli({ DATABASE_URL: testDatabase.url, ...env });
  const shopId = String((await cli.answer<{ id: number }>(['shops', 'create', '--name', 'Shop'])).id);
  for (const id of ['70001', 'b=c']) await cli.answer(['locations', 'add', '--shop', shopId, '--id', id, '--name', id]);
  const close = async () => {
    await database.destroy();
    await testDatabase.drop();
  };
  return { databaseUrl: testDatabase.url, database, cli, shopId, close };
}
