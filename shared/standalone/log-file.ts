import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

const bytesMax = 20_000_000;

export interface LogFile {
  write(text: string): void;
  close(): void;
}

/** A log that is kept small: past 20 MB it becomes `<path>.1` and starts again, so that two files are the most there is. */
export function openLogFile(path: string): LogFile {
  let file = openSync(path, 'a', 0o600);
  let bytes = fstatSync(file).size;
  return {
    write(text) {
      if (bytes > bytesMax) {
        closeSync(file);
        renameSync(path, `${path}.1`);
        file = openSync(path, 'a', 0o600);
        bytes = 0;
      }
      bytes += writeSync(file, text);
    },
    close() {
      closeSync(file);
    },
  };
}
