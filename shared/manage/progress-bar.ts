import { SingleBar } from 'cli-progress';

export interface ProgressBar {
  /** @param part of the whole, 0 to 1 */
  show: (what: string, part: number) => void;
  /** Takes the bar away again: what comes after it is the answer. */
  stop: () => void;
}

/** A bar on a terminal, for whoever watches a command that takes long. It writes nothing before it is first shown. */
export function createProgressBar(terminal: NodeJS.WritableStream): ProgressBar {
  const bar = new SingleBar({
    stream: terminal,
    format: '[{bar}] {percentage}% | {eta_formatted} | {what}',
    // Otherwise a Ctrl-C midway would leave the terminal without a cursor and without line wrapping.
    hideCursor: false,
    linewrap: true,
    clearOnComplete: true,
  });
  return {
    show(what, part) {
      if (bar.isActive) bar.update(part, { what });
      else bar.start(1, part, { what });
    },
    stop: () => bar.stop(),
  };
}
