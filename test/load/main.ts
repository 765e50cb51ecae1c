import { writeFile } from 'node:fs/promises';
import { outliveLostOutput } from '../../shared/runtime/lost-output.js';
import { closeAll } from '../support/processes/cleanup.js';
import { findService, WrongUsage } from './find-service.js';
import { startGenerators } from './generators.js';
import { createInterrupt } from './interrupt.js';
import { loadPage } from './load-page.js';
import { problemsOf, progressText, reportText } from './load-text.js';
import { loadUsage, readLoadOptions } from './options.js';
import type { LoadOptions } from './options.js';
import { standardOutput } from './output-path.js';
import { readArguments } from './read-arguments.js';
import { runLoad } from './run-load.js';

/** `npm run load`: load for a running service, bounded in time and count, held to account by its own levels. */
const exitCodes = { wrong: 1, missed: 2, usage: 64, unavailable: 69, unwritten: 74 } as const;
const dataFolderDefault = '.data';
/** On a pipe a line so often; on a terminal one line that changes. */
const progressEveryMs = 2_000;

outliveLostOutput(process);
process.exitCode = await load(readArguments('npm run load', loadUsage, (args) => readLoadOptions(args, process.env)));

async function load(options: LoadOptions): Promise<number> {
  const service = await findService(options, process.env['DATA_DIR'] || dataFolderDefault, say).catch(failed);
  if (typeof service === 'number') return service;
  try {
    const generators = await startGenerators(options.processes);
    stopOnInterrupt(() => generators.stop());
    const progress = progressWriter(options.loop === 'open' ? 'due/s' : 'connections');
    const report = await runLoad(options, service, generators, { line: say, progress }).catch(failed);
    await generators.close();
    if (typeof report === 'number') return report;
    const text = `\n${reportText(report)}`;
    if (options.jsonPath === standardOutput) say(text);
    const written = await Promise.all([
      options.jsonPath === standardOutput || print(`${text}\n`),
      write(options.jsonPath, () => `${JSON.stringify(report, null, 2)}\n`),
      write(options.htmlPath, () => loadPage(report)),
    ]);
    const isWritten = written.every(Boolean);
    if (problemsOf(report).length > 0) return exitCodes.wrong;
    if (report.unheld !== undefined) return exitCodes.unavailable;
    if (!isWritten) return exitCodes.unwritten;
    return report.thresholds.some(({ isMet }) => !isMet) ? exitCodes.missed : 0;
  } finally {
    await service.client.close();
    await closeAll();
  }
}

/** @returns whether it was written, or is not wanted */
async function write(path: string | undefined, content: () => string): Promise<boolean> {
  if (path === undefined) return true;
  if (path === standardOutput) return print(content());
  try {
    await writeFile(path, content());
    return true;
  } catch (error) {
    say(`${path} could not be written: ${(error as Error).message}`);
    return false;
  }
}

/** @returns true if it was written, or nobody reads any more; any other failure is told by `outliveLostOutput` */
function print(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      resolve(error?.code === 'EPIPE' || !error);
    });
  });
}

function stopOnInterrupt(stop: () => Promise<void>): void {
  // The listener that ends the process at once is there since the first child was started.
  process.removeAllListeners('SIGINT');
  const interrupt = createInterrupt({
    stop: () => {
      say('ending the load');
      void stop();
    },
    exit: () => process.exit(130),
  });
  process.on('SIGINT', interrupt);
}

function progressWriter(unit: string) {
  let saidMs = -Infinity;
  return (progress: Parameters<typeof progressText>[0]) => {
    if (process.stderr.isTTY) {
      process.stderr.write(`\r\u001b[K${progressText(progress, unit)}`);
    } else if (progress.atMs - saidMs >= progressEveryMs) {
      saidMs = progress.atMs;
      say(progressText(progress, unit));
    }
  };
}

/** What ends the command before it has anything to report. */
function failed(error: unknown): number {
  say((error as Error).message);
  return error instanceof WrongUsage ? exitCodes.usage : exitCodes.unavailable;
}

/** Goes to stderr: only the report, or its figures, goes to stdout. */
function say(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}\n` : `${line}\n`);
}
