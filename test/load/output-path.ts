import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What one types in place of a file. */
export const standardOutput = '-';

/**
 * The path of a file that is to be written at the end. It is checked before the work, which would otherwise be for
 * nothing.
 *
 * @param option as the person typed it
 * @throws with a sentence for that person
 */
export function readOutputPath(option: string, path: string): string {
  if (path === standardOutput) throw new Error(`${option} takes a file, and not the standard output.`);
  const file = resolve(path);
  const isThere = existsSync(file);
  if (isThere && statSync(file).isDirectory()) throw new Error(`${option} takes a file, and ${file} is a folder.`);
  const target = isThere ? file : dirname(file);
  try {
    accessSync(target, constants.W_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${option}: nothing can be written to ${target} (${String(code)}).`, { cause });
  }
  return file;
}
