import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pino, stdSerializers } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import type PinoPretty from 'pino-pretty';
import { plainly } from '../domain/reason-of.js';

/**
 * Structured log of a process; the fields come first, the text second. A fault is a sentence; a step in the life of a
 * process or of a request is a word: `logger.info({ port }, 'listening')`.
 */
export type Logger = PinoLogger;

/**
 * A logger of one JSON object a line on stdout, with `name` and `pid` as its only fixed fields: the collector knows
 * better what a machine adds (hostname, container). On a terminal, outside production, one readable line. Writing is
 * synchronous, so that what is logged just before the process exits is not lost.
 */
export function createLogger(deps: {
  name: string;
  level: string;
  nodeEnv?: string | undefined;
  destination?: DestinationStream;
}): Logger {
  const { name, level, nodeEnv } = deps;
  // Of a log of errors alone it says too that some are missing.
  const tellLost = (lostCount: number) =>
    logger.child({}, { level: 'warn' }).warn({ lostCount }, 'Lines of this log could not be written.');
  const destination = deps.destination ?? createDestination(nodeEnv, tellLost);
  const serializers = { err: withoutValues };
  const hooks = { streamWrite: maskCredentials };
  const logger = pino({ name, level, base: { pid: process.pid }, serializers, hooks }, destination);
  return logger;
}

/** The fields that say where a fault lies and what kind it is; never what a client sent. */
const told = [
  'code',
  'errno',
  'syscall',
  'address',
  'port',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'sql',
];

/**
 * Drivers add to an error what was sent when it came: ioredis the command, with the password if it was AUTH, Knex the
 * values of its statement, Postgres those of a row. So only listed fields are logged, and of a command its name.
 */
function withoutValues(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  const fields = Object.entries(error).filter(([name]) => told.includes(name));
  const { command } = error as { command?: { name?: unknown } };
  return {
    type,
    message: plainly(message),
    stack: plainly(stack),
    ...Object.fromEntries(fields),
    ...(command?.name === undefined ? {} : { command: command.name }),
    ...(error instanceof AggregateError ? { aggregateErrors: error.errors.map(withoutValues) } : {}),
  };
}

const require = createRequire(import.meta.url);

function createDestination(nodeEnv: string | undefined, tellLost: (count: number) => void): DestinationStream {
  const readable = process.stdout.isTTY && nodeEnv !== 'production';
  return createLineWriter(tellLost, readable ? createPretty() : undefined);
}

/** Loaded only where it is wanted: otherwise each start would read its 30 files. */
function createPretty(): (line: string) => string {
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  return prettyFactory({ singleLine: true });
}

const stdoutFd = 1;
/** How long a reader that is behind is waited for, once until it reads again: the whole process waits. */
const behindMsMax = 1_000;
const lookEveryMs = 20;
const behindClock = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes each line at once. One that cannot be written (full disk, closed terminal, a reader that has stopped) is left
 * out: pino's own destination would end the process, even while it finishes its work after a SIGTERM, and try for ever
 * to write a fatal line.
 *
 * @param tellLost told how many were left out, once lines can be written again; it logs that
 */
function createLineWriter(
  tellLost: (count: number) => void,
  format: (line: string) => string = (line) => line,
): DestinationStream {
  let isTorn = false;
  let lostCount = 0;
  let isTelling = false;

  /** Returns whether nothing of it is lost. */
  function isWritten(line: string): boolean {
    const text = format(line);
    const bytes = Buffer.from(isTorn ? `\n${text}` : text);
    const waitsUntilMs = performance.now() + (lostCount === 0 ? behindMsMax : 0);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSome(bytes, written, waitsUntilMs);
    } catch {
      isTorn ||= written > 0;
      // Nothing is lost where only the end of the line is missing: the next one begins with it.
      return written >= bytes.length - 1;
    }
    isTorn = false;
    return true;
  }

  return {
    write(line) {
      const isDone = isWritten(line);
      // If the line that tells of them is lost, they are told with the next.
      if (isTelling) lostCount = isDone ? 0 : lostCount;
      else if (!isDone) lostCount += 1;
      else if (lostCount > 0) {
        isTelling = true;
        tellLost(lostCount);
        isTelling = false;
      }
    },
  };
}

/**
 * @returns how many bytes; 0 where a pipe is full, after a short wait
 * @throws where it is full and no more is to be waited
 */
function writeSome(bytes: Buffer, from: number, waitsUntilMs: number): number {
  try {
    return writeSync(stdoutFd, bytes, from);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= waitsUntilMs) throw error;
    Atomics.wait(behindClock, 0, 0, lookEveryMs);
    return 0;
  }
}

const masked = '[redacted]';

const secretFields =
  /"(authorization|cookie|key|api_?key|token|(?:access|platform)_?token|x-shopify-access-token|password|secret)":"(?:[^"\\]|\\.)+"/gi;

/**
 * The second line of defence; the first is that no caller logs a credential. It works on the finished line, since
 * pino's `redact` needs a path for each place and each depth: 24 µs a line with these names down to the third level,
 * against 2 µs here at any depth (Node 20, 2 cores; an unmasked line is 1 µs).
 * Besides the fields it masks what got into a sentence or an error's message: our API keys (contract §5; the id stays,
 * as logs may hold it), Shopify's tokens, and the password in an address.
 */
function maskCredentials(line: string): string {
  return line
    .replace(secretFields, `"$1":"${masked}"`)
    .replace(/\b(rmk_[0-9A-Za-z]{12})[0-9A-Za-z]+/g, `$1${masked}`)
    .replace(/\bshp[a-z]{2}_[0-9A-Za-z]+/g, masked)
    .replace(/(:\/\/[^\s:@/"\\]*:)[^\s@/"\\]+@/g, `$1${masked}@`);
}
