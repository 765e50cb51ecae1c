import { constants } from 'node:os';
import type { Logger } from './logger.js';
import { ServerUnusable } from '../domain/server-unusable.js';
import { exitCodes } from './exit-codes.js';

/**
 * A signal within this time of the first of its kind is its echo, not a second wish. Ctrl-C under `npm run` reaches the
 * process twice: from the terminal, and passed on by npm (`@npmcli/run-script`, lib/signal-manager.js).
 */
export const echoMsMax = 500;

type StopSignal = 'SIGINT' | 'SIGTERM';

/** The one way a process ends: what was opened is closed in reverse. */
export interface Shutdown {
  /** Adds a closer; call it right after a resource is opened. One added after the end has begun is run as well. */
  register(name: string, close: () => unknown): void;
  /** Closes everything once, last opened first; later calls await the same end. Never rejects. */
  run(reason: string): Promise<void>;
  /**
   * Lets SIGINT, SIGTERM, SIGHUP and faults nobody caught start the end. For a process's entry, once.
   *
   * @param options.untilStarted until `started()`, what is still being opened is not waited for: if the end comes
   *   before, the process exits 0 as soon as all is closed
   */
  listen(options?: { untilStarted: boolean }): void;
  started(): void;
}

interface State {
  readonly closers: { name: string; close: () => unknown }[];
  ending: Promise<void> | undefined;
  closingNow: string | undefined;
  exitCodeAtForce: number;
  listening: boolean;
  /** While it starts, nobody waits for what is still being opened. */
  starting: boolean;
}

/**
 * Closers run one after the other, each awaited; one that fails is logged and the others still run.
 * A clean end never calls `process.exit`, except during a start: it leaves nothing open, so a leak is seen as a hang.
 * `forceMs` bounds all of it, and after `listen()` a leak too: then the closer that hangs is logged and the process
 * exits 1, or after a fault with its code.
 * A second signal of the same kind exits at once with 130 (SIGINT) or 143 (SIGTERM). Another kind does not: Ctrl-C
 * under a supervisor sends SIGINT from the terminal and then SIGTERM from the parent, and that is one wish. Nor does a
 * second SIGHUP: a closing terminal may send two, since its shell passes it on, and the kernel repeats it when the
 * shell ends.
 * A fault that nobody caught is logged as fatal, everything is closed, and the process exits 70; 69 if it cannot
 * listen, or if a server that it needs is not there.
 */
export function createShutdown(deps: { logger: Logger; forceMs: number }): Shutdown {
  const state: State = {
    closers: [],
    ending: undefined,
    closingNow: undefined,
    exitCodeAtForce: exitCodes.failed,
    listening: false,
    starting: false,
  };
  const run = (reason: string) => runOnce(deps, state, reason);
  return {
    register: (name, close) => {
      state.closers.push({ name, close });
      if (state.ending) state.ending = state.ending.then(() => closeAll(deps.logger, state));
    },
    run,
    listen: ({ untilStarted } = { untilStarted: false }) => {
      state.listening = true;
      state.starting = untilStarted;
      listenToSignals(deps.logger, run);
      listenToFaults(deps.logger, state, run);
    },
    started: () => {
      state.starting = false;
    },
  };
}

function runOnce(deps: { logger: Logger; forceMs: number }, state: State, reason: string): Promise<void> {
  if (state.ending) return state.ending;
  deps.logger.info({ reason }, 'closing');
  const timer = setTimeout(() => {
    forceExit(deps, state);
  }, deps.forceMs);
  state.ending = closeAll(deps.logger, state).finally(() => {
    // Until here the timer keeps the process open: if a closer hung with nothing else open, it would end with 0 and say
    // nothing. From here, in a process that ends with this, it only waits for what should have let go and did not.
    if (state.listening) timer.unref();
    else clearTimeout(timer);
    deps.logger.info('closed');
    if (state.starting) process.exit(0);
  });
  return state.ending;
}

async function closeAll(logger: Logger, state: State): Promise<void> {
  for (let closer = state.closers.pop(); closer; closer = state.closers.pop()) {
    state.closingNow = closer.name;
    try {
      await closer.close();
      logger.debug({ closer: closer.name }, 'closed one');
    } catch (error) {
      logger.error({ err: error, closer: closer.name }, 'could not be closed');
    }
  }
  state.closingNow = undefined;
}

function forceExit({ logger, forceMs }: { logger: Logger; forceMs: number }, state: State): never {
  const notClosed = state.closers.map((closer) => closer.name).reverse();
  const stillOpen = process.getActiveResourcesInfo();
  const what = state.closingNow ? `${state.closingNow} did not close` : 'all was closed, but something was left open';
  logger.fatal({ closer: state.closingNow, notClosed, stillOpen, forceMs }, `${what}: forced to exit`);
  process.exit(state.exitCodeAtForce);
}

function listenToSignals(logger: Logger, run: (reason: string) => Promise<void>): void {
  const firstAtMs = new Map<StopSignal, number>();
  const onSignal = (signal: StopSignal) => {
    const first = firstAtMs.get(signal);
    if (first !== undefined && performance.now() - first > echoMsMax) {
      logger.warn({ signal }, 'a second signal: exits at once');
      process.exit(128 + constants.signals[signal]);
    }
    if (first === undefined) firstAtMs.set(signal, performance.now());
    void run(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', (signal) => void run(signal));
}

function listenToFaults(logger: Logger, state: State, run: (reason: string) => Promise<void>): void {
  // Node raises an unhandled rejection as an uncaught exception too, with its origin, so one listener sees both.
  process.on('uncaughtException', (error, origin) => {
    // What was being opened failed because it has been closed.
    if (state.ending !== undefined && state.starting) {
      logger.info({ err: error }, 'the start was broken off');
      return;
    }
    state.starting = false;
    const outside = reasonOutside(error);
    // What failed is said here and nowhere else. Where in Node it came up helps only whoever mends our code.
    if (outside === undefined) logger.fatal({ err: error, origin }, 'a fault that nobody caught');
    else logger.fatal({ err: error }, outside);
    const exitCode = outside === undefined ? exitCodes.fault : exitCodes.unavailable;
    state.exitCodeAtForce = exitCode;
    void run(outside === undefined ? 'a fault' : 'it cannot start').then(() => process.exit(exitCode));
  });
}

/** The reason if it lies outside of the process; undefined otherwise. */
function reasonOutside(error: Error): string | undefined {
  if (error instanceof ServerUnusable) return 'a server that is needed is not there';
  const { syscall } = error as NodeJS.ErrnoException;
  // `getaddrinfo` is for the name in HOST or ADMIN_HOST: connections to servers fail with errors of their own.
  if (syscall === 'listen' || syscall === 'getaddrinfo') return 'the address cannot be listened on';
  return undefined;
}
