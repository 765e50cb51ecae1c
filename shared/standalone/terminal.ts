import { prettyFactory } from 'pino-pretty';

/** What `npm start` prints: its own progress, and lines of the processes that it runs, with their names. */
export interface Terminal {
  say: (line: string) => void;
  complain: (line: string) => void;
  /** For the lines of a process. On a terminal JSON becomes readable; into a pipe it goes as it is, for machines. */
  printOf: (name: string) => (line: string) => void;
}

export function createTerminal(deps: { out: NodeJS.WriteStream; err: NodeJS.WriteStream }): Terminal {
  const { out, err } = deps;
  const startedAtMs = performance.now();
  // A reader that went away (`npm start | head`, a closed window) is no reason for the service to stop.
  for (const stream of [out, err]) stream.on('error', () => undefined);
  const pretty = prettyFactory({ colorize: out.isTTY, singleLine: true, ignore: 'pid,name,hostname' });
  return {
    say: (line) => {
      out.write(`${((performance.now() - startedAtMs) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
    },
    complain: (line) => {
      err.write(`${line}\n`);
    },
    printOf: (name) => (line) => {
      const isJson = line.startsWith('{');
      if (isJson && !out.isTTY) out.write(`${line}\n`);
      else out.write(`[${name}] ${isJson ? pretty(line).trimEnd() : line}\n`);
    },
  };
}
