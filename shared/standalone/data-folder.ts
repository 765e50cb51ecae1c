import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tokenKeyProblem } from '../platform/token-cipher.js';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';

const keyBytes = 32;
/** An empty file still fits onto a full disk. */
const probeBytes = 1_048_576;

/** The folder of everything `npm start` keeps, made when missing; a problem when it cannot be written to. */
export function openDataFolder(path: string): Outcome<string> {
  const folder = resolve(path);
  try {
    // Others may enter (Postgres runs as another user when we are root); each secret inside is closed by its own mode.
    if (makeFolder(folder)) chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o700 });
    probe(join(folder, `.probe-${process.pid}`));
    return { ok: true, value: folder };
  } catch (error) {
    return cannotUseFolder(folder, error as Error);
  }
}

/** Also for later, as when its disk has filled up meanwhile. */
export function cannotUseFolder(folder: string, { message }: Error): Failed {
  return failed(
    `The data folder ${folder} cannot be used: ${message}.\n` +
      'Set DATA_DIR to a folder that can be written to, for example: DATA_DIR=/tmp/raw-materials npm start',
  );
}

/** Whether a call to the system failed, as of a file where the disk is full. Those of sockets are `isTransient`. */
export function isFileFault(error: unknown): error is Error {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** What the work in the folder comes to. A file that it cannot read or write is a problem of the folder. */
export function tryInFolder<T>(folder: string, work: () => T): Outcome<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (isFileFault(error)) return cannotUseFolder(folder, error);
    throw error;
  }
}

/**
 * With all that lead to it. Node's own way (`recursive`) never comes back where the system says that a parent is
 * missing which is there, as in /proc.
 *
 * @returns whether it was missing
 */
function makeFolder(folder: string): boolean {
  if (existsSync(folder)) return false;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    // Another start was quicker.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Like `openDataFolder`, but makes no missing folder. @returns where it is, or where `npm start` will make it */
export function lookAtDataFolder(path: string): Outcome<string> {
  const folder = resolve(path);
  if (existsSync(folder)) return openDataFolder(folder);
  let parent = dirname(folder);
  while (!existsSync(parent)) parent = dirname(parent);
  try {
    accessSync(parent, constants.W_OK | constants.X_OK);
    return { ok: true, value: `${folder}, which npm start will make` };
  } catch (error) {
    return failed(`The data folder ${folder} cannot be made: ${(error as Error).message}. Set DATA_DIR to another.`);
  }
}

/** @throws where nothing can be written */
function probe(path: string): void {
  try {
    writeFileSync(path, Buffer.alloc(probeBytes));
  } finally {
    rmSync(path, { force: true });
  }
}

const platformTokenKeyPath = (dataFolder: string) => join(dataFolder, 'platform-token-key');
const keyInUsePath = (dataFolder: string) => join(dataFolder, 'platform-token-key-in-use');

/**
 * The key that platform tokens are sealed with: the one that is given, or 32 random bytes in hex, made at the first
 * start and kept. Its hash is left for `manage`, which must not seal with a kept key that this start does not use.
 */
export function keepPlatformTokenKey(dataFolder: string, given?: string): Outcome<string> {
  const kept = tryInFolder(dataFolder, (): Outcome<string> => {
    const key = given === undefined ? keptKey(platformTokenKeyPath(dataFolder)) : { ok: true as const, value: given };
    if (key.ok) writeWhole(keyInUsePath(dataFolder), `${hashOf(key.value)}\n`);
    return key;
  });
  return kept.ok ? kept.value : kept;
}

/** Whether `keepPlatformTokenKey` would find a key. @returns where it is, or where `npm start` will make it */
export function lookAtPlatformTokenKey(dataFolder: string): Outcome<string> {
  const path = platformTokenKeyPath(dataFolder);
  if (!existsSync(path)) return { ok: true, value: `${path}, which npm start will make` };
  const kept = tryInFolder(dataFolder, () => checkedKey(path, readTrimmed(path)));
  if (!kept.ok) return kept;
  return kept.value.ok ? { ok: true, value: path } : kept.value;
}

function keptKey(path: string): Outcome<string> {
  if (!existsSync(path)) writeWhole(path, `${randomBytes(keyBytes).toString('hex')}\n`);
  return checkedKey(path, readTrimmed(path));
}

/**
 * The key that is kept there; undefined where there is none, or where the last start was given another. A problem where
 * the file holds something else. @throws where it cannot be read
 */
export function readPlatformTokenKey(dataFolder: string): Outcome<string | undefined> {
  const [path, inUsePath] = [platformTokenKeyPath(dataFolder), keyInUsePath(dataFolder)];
  if (!existsSync(path)) return { ok: true, value: undefined };
  const key = readTrimmed(path);
  // A start of an earlier version has left none.
  const isOther = existsSync(inUsePath) && readTrimmed(inUsePath) !== hashOf(key);
  return isOther ? { ok: true, value: undefined } : checkedKey(path, key);
}

function checkedKey(path: string, key: string): Outcome<string> {
  const problem = tokenKeyProblem(key);
  return problem === undefined ? { ok: true, value: key } : failed(`What is in ${path} ${problem}.`);
}

const readTrimmed = (path: string) => readFileSync(path, 'utf8').trim();
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

/** Writes a file of mode 0600 that is there whole or not at all, even if we are killed half-way. */
export function writeWhole(path: string, text: string): void {
  const partial = `${path}.partial-${process.pid}`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, path);
}
