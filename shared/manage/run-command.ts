import { constants } from 'node:os';
import { connectDatabase } from '../database/connect.js';
import type { Database } from '../database/connect.js';
import { isTransient, outageSentence } from '../database/errors.js';
import { isMissingSchema } from '../database/schema-state.js';
import { OpenCommit, settledTransaction } from '../database/settled-transaction.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';
import { dropPostgresVariables } from '../standalone/postgres-variables.js';
import { findRunningInstance } from './find-running-instance.js';
import type { RunningInstance } from './find-running-instance.js';

/** What a command has to say, for machines and for people. */
export interface Answer {
  /** The one JSON document of `--json`. */
  data: object;
  text: string;
  /** Said if the answer could not be written, because nobody would then know what was done. */
  unread?: string;
  /** 0 by default; otherwise for a check that found something, which is an answer but no success. */
  exitCode?: number;
}

/** What a command did not do, and why. */
export interface Refused extends Failed {
  /** What the one JSON document of `--json` has beside the problem. */
  data?: object;
  /** 1 by default. */
  exitCode?: number;
}

export type CommandOutcome = { ok: true; value: Answer } | Refused;

export interface CommandContext {
  database: Database;
  /**
   * Makes a change in a transaction (`settledTransaction`). A signal to end that comes during its COMMIT ends the
   * command with the word that the change may be done; one that comes before leaves everything as it was.
   */
  change: <T>(work: (transaction: Database) => Promise<T>) => Promise<T>;
  platformTokenKey: string | undefined;
  /** The variable PLATFORM_TOKEN: a token on the command line would show in `ps`. */
  platformToken: string | undefined;
  /** Whether a shop's platform may be a server on 127.0.0.1: the demo's stand-in. */
  allowLoopback: boolean;
  /** All of stdin, without its trailing line end; only the beginning, if it is longer than any command takes. */
  readStdin: () => Promise<string>;
  /** A line for whoever watches; never on stdout. */
  progress: (line: string) => void;
  /** stderr, where it is a terminal. */
  terminal: NodeJS.WritableStream | undefined;
  /** From the first call on, a signal to end does not end the command, which hears its name instead. */
  holdSignals: (hear: (name: NodeJS.Signals) => void) => void;
  /** Ends the process where it stands, as the signal would, but not without a word. @param data as of `Refused` */
  endBy: (name: NodeJS.Signals, problem: string, data?: object) => void;
}

export type RunCommand = (
  options: { json?: true },
  work: (context: CommandContext) => Promise<CommandOutcome>,
) => Promise<void>;

export interface RunCommandDeps extends Pick<CommandContext, 'platformTokenKey' | 'platformToken' | 'allowLoopback'> {
  databaseUrl: string | undefined;
  dataFolder: string;
  process: CommandProcess;
}

/** What a command has of the process that runs it: its own, or a test's stand-in. */
export interface CommandProcess extends Pick<NodeJS.Process, 'env' | 'exitCode' | 'exit'> {
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  on: (signal: NodeJS.Signals, hear: () => void) => unknown;
}

const stdinBytesMax = 65_536;
const poolMax = 2;
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The one JSON document of `--json` where nothing was done: whoever reads stdout need not look at stderr as well. */
export function problemDocument(problem: string, data: object = {}): string {
  return `${JSON.stringify({ error: { message: problem }, ...data })}\n`;
}

/**
 * Returns how every command is run: its answer goes to stdout, a sentence about whatever went wrong to stderr, and its
 * database is closed at the end. Exit codes: 0; 1 for a failure or a finding; 69 if the database cannot be asked, so
 * that `verify` can serve as a gate; 78 if none is known. Our own faults are rethrown.
 */
export function createRunCommand(deps: RunCommandDeps): RunCommand {
  const { stdin, stdout, stderr } = deps.process;
  const complain = (problem: string, exitCode: number) => {
    stderr.write(`${problem}\n`);
    deps.process.exitCode = exitCode;
  };
  return async ({ json }, work) => {
    const refuse = async ({ problem, data }: Refused, exitCode: number) => {
      complain(problem, exitCode);
      if (json === true) await writeTo(stdout, problemDocument(problem, data));
    };
    const instance = findInstance(deps);
    if (!instance.ok) return refuse(instance, exitCodes.config);
    const { databaseUrl: url, platformTokenKey } = instance.value;
    const database = connectDatabase({ url, poolMax, applicationName: 'raw-materials-manage' });
    const signals = signalsOf(deps.process, json === true);
    try {
      const outcome = await work({
        database,
        change: (changing) => changeOf(database, signals, changing),
        platformTokenKey,
        platformToken: deps.platformToken,
        allowLoopback: deps.allowLoopback,
        readStdin: () => readAll(stdin),
        progress: (line) => stderr.write(`${line}\n`),
        terminal: stderr.isTTY === true ? stderr : undefined,
        ...signals,
      });
      if (!outcome.ok) return await refuse(outcome, outcome.exitCode ?? exitCodes.failed);
      const { data, text, exitCode = 0, unread } = outcome.value;
      const lost = await writeTo(stdout, json === true ? `${JSON.stringify(data)}\n` : `${text}\n`);
      if (lost && unread !== undefined) return complain(unread, exitCodes.failed);
      // Never set back to 0: if the answer was lost, `outliveLostOutput` has set it to 1 already.
      if (exitCode > 0) deps.process.exitCode = exitCode;
    } catch (error) {
      await refuse(failed(sentenceOf(error)), cannotBeAsked(error) ? exitCodes.unavailable : exitCodes.failed);
    } finally {
      await database.destroy();
    }
  };
}

/** What a shell has as the exit code of a command that the signal ended. */
export function exitCodeBy(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}

type Signals = Pick<CommandContext, 'holdSignals' | 'endBy'>;

function signalsOf(process: CommandProcess, json: boolean): Signals {
  return {
    holdSignals: (hear) => {
      // They stay: npm passes on what the terminal has sent already.
      for (const name of endSignals) process.on(name, () => hear(name));
    },
    endBy: (name, problem, data) => {
      process.stderr.write(`${problem}\n`);
      if (json) process.stdout.write(problemDocument(problem, data));
      process.exit(exitCodeBy(name));
    },
  };
}

async function changeOf<T>(
  database: Database,
  { holdSignals, endBy }: Signals,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  let isCommitting = false;
  const onCommit = () => {
    isCommitting = true;
    // Once it is known what became of the change, the command is about to say so.
    holdSignals((name) => {
      if (isCommitting) endBy(name, `${name} came while the change was being committed: ${maybeDone}`);
    });
  };
  try {
    return await settledTransaction(database, work, { onCommit });
  } finally {
    isCommitting = false;
  }
}

/** What is known of a change whose COMMIT was not answered. */
export const maybeDone = 'it may be done. Look before you do it again.';

/** Whether it could not be written. */
function writeTo(stream: NodeJS.WritableStream, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    stream.write(text, (error) => resolve(error instanceof Error));
  });
}

function findInstance(deps: RunCommandDeps): Outcome<RunningInstance> {
  const { databaseUrl, platformTokenKey, dataFolder } = deps;
  if (databaseUrl !== undefined) return { ok: true, value: { databaseUrl, platformTokenKey } };
  const found = findRunningInstance(dataFolder, platformTokenKey);
  // Without this line, whoever forgot to set it might change the demo's shops instead of their own.
  if (found.ok)
    deps.process.stderr.write(`DATABASE_URL is not set: this is the database of npm start in ${dataFolder}.\n`);
  dropPostgresVariables(deps.process.env);
  return found;
}

/** Away, closed to us, or without our tables: nothing was learned of what is in it. */
function cannotBeAsked(error: unknown): boolean {
  return isTransient(error) || isMissingSchema(error);
}

/** A sentence for what an operator can mend; anything else is our own fault and is rethrown with its stack. */
function sentenceOf(error: unknown): string {
  if (isTransient(error)) return outageSentence(error);
  if (error instanceof OpenCommit) {
    return `The database went away while the change was being committed: ${maybeDone}`;
  }
  if (isMissingSchema(error)) return 'The database does not have the schema of this version. Run: npm run migrate';
  throw error;
}

async function readAll(stdin: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > stdinBytesMax) break;
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}
