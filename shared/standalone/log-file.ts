import { closeSync, existsSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs';

const bytesMax = 20_000_000;

export interface LogFile {
  write(text: string): void;
  close(): void;
}

/**
 * For the log of a server that is about to start: past 20 MB it becomes `<path>.1`, as below. While the server runs it
 * holds the file open, so this is the moment.
 *
 * @throws where it cannot be renamed
 */
export function beginLogAgainIfLarge(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > bytesMax) renameSync(path, `${path}.1`);
}

/**
 * A log that is kept small: past 20 MB it becomes `<path>.1` and starts again, so there are never more than two files.
 * What cannot be written, as on a full disk, is lost, because a log must not end those who write to it.
 */
export function openLogFile(path: string): LogFile {
  let file = openSync(path, 'a', 0o600);
  let bytes = fstatSync(file).size;
  const startAgain = () => {
    if (existsSync(path)) renameSync(path, `${path}.1`);
    const fresh = openSync(path, 'a', 0o600);
    closeSync(file);
    [file, bytes] = [fresh, 0];
  };
  return {
    write(text) {
      try {
        if (bytes > bytesMax) startAgain();
        bytes += writeSync(file, text);
      } catch {
        // The terminal has what is worth a person's attention.
      }
    },
    close() {
      closeSync(file);
    },
  };
}
