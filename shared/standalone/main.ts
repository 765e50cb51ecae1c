import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeNoArguments } from '../runtime/command-help.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { createLogger } from '../runtime/logger.js';
import type { Outcome } from '../runtime/outcome.js';
import { settingsOrExit } from '../runtime/settings.js';
import { createShutdown } from '../runtime/shutdown.js';
import { openDataFolder, tryInFolder } from './data-folder.js';
import { curlLines, demoFilePath, removeDemoFile, writeDemoFile } from './demo-file.js';
import type { Demo } from './demo-file.js';
import { lockPath, takeLock } from './instance-lock.js';
import { dropPostgresVariables } from './postgres-variables.js';
import { productionRefusal, startSettings } from './start-settings.js';
import { startStack } from './start-stack.js';
import { createTerminal } from './terminal.js';
import type { Terminal } from './terminal.js';

/** API 28 s, workers 28 s, Redis 13 s and Postgres 12 s, one after the other, when each takes all it may. */
const forceMs = 90_000;
const parentEveryMs = 500;

takeNoArguments(
  'npm start',
  'Runs the whole service with Postgres, Redis and demo data, for a look. Other settings are handed on to the API and\n' +
    'the workers (npm run api -- --help), except those that it chooses itself: HOST and ADMIN_HOST stay 127.0.0.1.',
  startSettings,
);
const settings = settingsOrExit(startSettings, process.env);
if (settings.DATABASE_URL === undefined) dropPostgresVariables(process.env);
await start();

async function start(): Promise<void> {
  const terminal = createTerminal({ out: process.stdout, err: process.stderr });
  const { NODE_ENV, DATA_DIR } = settings;
  const refusal = productionRefusal(NODE_ENV);
  if (refusal !== undefined) {
    terminal.complain(refusal);
    return leave(exitCodes.config);
  }
  const folder = openDataFolder(DATA_DIR);
  if (!folder.ok) {
    terminal.complain(folder.problem);
    return leave(exitCodes.config);
  }
  const dataFolder = folder.value;
  const lock = takeLock(lockPath(dataFolder));
  if (!lock.ok) {
    terminal.complain(`npm start is running on ${dataFolder} already: process ${lock.pid}${addressOf(dataFolder)}.`);
    return leave(exitCodes.running);
  }
  const cleared = tryInFolder(dataFolder, () => removeDemoFile(dataFolder));
  if (!cleared.ok) {
    lock.release();
    terminal.complain(cleared.problem);
    return leave(exitCodes.config);
  }

  await run(terminal, dataFolder, lock.release);
}

async function run(terminal: Terminal, dataFolder: string, releaseLock: () => void): Promise<void> {
  const shutdown = createShutdown({
    logger: createLogger({ name: 'start', level: 'warn', nodeEnv: settings.NODE_ENV }),
    forceMs,
  });
  const abort = new AbortController();
  const endNow: (() => void)[] = [releaseLock];
  shutdown.register('lock', releaseLock);
  // What is still being started is to be closed, too, before another start may have the folder.
  let starting: Promise<unknown> = Promise.resolve();
  shutdown.register('start', () => starting.catch(() => undefined));
  shutdown.register('demo file', () => removeDemoFile(dataFolder));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.once(name, () => {
      terminal.say(`${name}: stopping everything`);
      abort.abort();
      // The shutdown handles the others itself; this one is Ctrl-\.
      if (name === 'SIGQUIT') void shutdown.run(name);
    });
  }
  // A statement that waits for another session cannot be taken back, and would keep the process open.
  shutdown.listen({ untilStarted: true });
  whenNpmEnds(() => {
    terminal.say('npm has ended: stopping everything');
    abort.abort();
    void shutdown.run('npm has ended');
  });
  // Also after a second Ctrl-C, or if the end hangs, nothing may be left running.
  process.once('exit', () => {
    for (const end of endNow.reverse()) end();
  });
  try {
    const pending = startStack({
      dataFolder,
      databaseUrl: settings.DATABASE_URL,
      redisUrl: settings.REDIS_URL,
      port: settings.PORT,
      platformTokenKey: settings.PLATFORM_TOKEN_KEY,
      env: process.env,
      terminal,
      shutdown,
      onProcess: (end) => endNow.push(end),
      abort: abort.signal,
    });
    starting = pending;
    const stack = await pending;
    if (abort.signal.aborted) return;
    shutdown.started();
    const announced = stack.ok ? announce(terminal, dataFolder, stack.value) : stack;
    if (announced.ok) return;
    terminal.complain(announced.problem);
    process.exitCode = exitCodes.config;
    await shutdown.run('could not start');
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
}

/**
 * A SIGTERM to npm ends npm and the shell between it and us, and neither passes it on. Without this watch everything
 * would go on running unseen. (Ctrl-C reaches all of them.)
 */
function whenNpmEnds(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop();
  }, parentEveryMs).unref();
}

/** Writes the demo file only now, so that whoever waits for it finds everything running. */
function announce(terminal: Terminal, dataFolder: string, demo: Demo): Outcome<void> {
  const written = tryInFolder(dataFolder, () => writeDemoFile(dataFolder, demo));
  if (!written.ok) return written;
  const { read, adjust } = curlLines(demo);
  terminal.say(`Ready: ${demo.baseUrl}   reference: ${demo.docsUrl}`);
  process.stdout.write(`\nRead materials:\n  ${read}\n\nAdd five to a stock:\n  ${adjust}\n\n`);
  process.stdout.write(
    `Queues now: ${demo.adminUrl}/queues (password: ${demo.adminToken})   metrics: /metrics there\n`,
  );
  process.stdout.write(
    `Keys and ids: ${demoFilePath(dataFolder)}   logs: ${join(dataFolder, 'logs')}   Ctrl-C stops all.\n`,
  );
  return written;
}

function addressOf(dataFolder: string): string {
  try {
    const { baseUrl } = JSON.parse(readFileSync(demoFilePath(dataFolder), 'utf8')) as { baseUrl: string };
    return `, at ${baseUrl}`;
  } catch {
    return '';
  }
}

/** Nothing is open yet, so the process ends by itself once its output is written. */
function leave(code: number): void {
  process.exitCode = code;
}
