import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { runCommand } from './processes.js';
import { closedDirectory, runAs } from './server-user.js';
import type { ServerUser } from './server-user.js';

/** Where one Postgres keeps its things; all of it belongs to the user it runs as and is closed to others. */
export interface PostgresFolder {
  path: string;
  cluster: string;
  log: string;
  password: string;
}

export const clusterIn = (path: string) => join(path, 'cluster');
export const passwordFileIn = (path: string) => join(path, 'password');

/** The address of the database `postgres` of an embedded server. */
export const urlOf = ({ password, port }: { password: string; port: number }) =>
  `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

const initMsMax = 60_000;
const partialPrefix = 'cluster.partial';
const elsewhereRoot = '/var/lib/raw-materials';

interface FolderDeps {
  dataDir: string;
  user: ServerUser | undefined;
  binaries: PostgresBinaries;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  /** Ends the making of the cluster. */
  signal?: AbortSignal;
  /** Told what makes the cluster, as soon as it is there. */
  onSpawn?: (pid: number) => void;
}

/**
 * Makes the folder of a Postgres, and in it, the first time, the cluster: UTF-8 with the builtin C.UTF-8 collation
 * (the same on every machine, so an index never depends on the C library), a random password in a file of mode 0600.
 *
 * @throws the reason of `signal`, where it ended the making of the cluster
 */
export async function preparePostgresFolder(deps: FolderDeps): Promise<Outcome<PostgresFolder>> {
  const placed = placeFolder(deps.dataDir, deps.user, deps.say);
  if (!placed.ok) return placed;
  const path = placed.value;
  const cluster = clusterIn(path);
  const passwordFile = passwordFileIn(path);
  removePartial(path);
  if (!existsSync(cluster)) {
    // Always anew: a start that was cut off, or a full disk, leaves a file that is empty or root's.
    const written = writePassword(passwordFile, deps);
    if (!written.ok) return written;
    deps.say('Postgres: making the database cluster');
    const made = await initialise(deps, { path, cluster, passwordFile });
    if (!made.ok) return made;
  } else if (!existsSync(passwordFile)) {
    return failed(
      `${passwordFile} is missing, and without it the database cannot be opened. Restore it, or remove ${path}.`,
    );
  }
  const password = readFileSync(passwordFile, 'utf8').trim();
  return { ok: true, value: { path, cluster, log: join(path, 'postgres.log'), password } };
}

/**
 * Where the Postgres of a folder is: there, or where the file beside it says (`placeFolder`). The file counts even if
 * the folder itself could be used by now, because there the database would be empty.
 */
export function locatePostgresFolder(dataDir: string): string {
  const elsewhere = elsewhereOf(dataDir);
  return elsewhere !== undefined && existsSync(elsewhere) ? elsewhere : dataDir;
}

/** What the file says, even if nothing is there. A start that was cut off leaves it empty, before any database. */
function elsewhereOf(dataDir: string): string | undefined {
  const pointer = pointerOf(dataDir);
  if (existsSync(dataDir) || !existsSync(pointer)) return undefined;
  return readFileSync(pointer, 'utf8').trim() || undefined;
}

function pointerOf(dataDir: string): string {
  return `${dataDir}.moved`;
}

/**
 * The folder itself, or, if the user Postgres runs as cannot get to it (root in `/root`), one under /var/lib. The name
 * of that one is kept in a file beside the folder, so that removing the data directory is still a fresh start.
 */
function placeFolder(dataDir: string, user: ServerUser | undefined, say: (line: string) => void): Outcome<string> {
  try {
    const lost = lostPostgresFolder(dataDir);
    if (lost !== undefined) return lost;
    const known = elsewhereOf(dataDir);
    if (known !== undefined) return { ok: true, value: makeOwned(known, user) };
    const closed = closedDirectory(dirname(dataDir), user);
    if (closed && existsSync(dataDir))
      throw new Error(`${closed} is closed to ${user?.name ?? 'it'} (chmod o+x would open it)`);
    if (!closed) return { ok: true, value: makeOwned(dataDir, user) };
    mkdirSync(elsewhereRoot, { recursive: true, mode: 0o755 });
    if (closedDirectory(elsewhereRoot, user)) throw new Error(`${elsewhereRoot} is closed, too`);
    const elsewhere = makeOwned(mkdtempSync(join(elsewhereRoot, 'postgres-')), user);
    writeFileSync(pointerOf(dataDir), `${elsewhere}\n`);
    say(`Postgres: ${closed} is closed to ${user?.name ?? 'it'}; the database is kept in ${elsewhere}`);
    return { ok: true, value: elsewhere };
  } catch (error) {
    return cannotKeep(dataDir, user, error);
  }
}

/**
 * That nothing is where the file says; undefined otherwise. An empty database in its place would look as if everything
 * had been lost.
 */
export function lostPostgresFolder(dataDir: string): Failed | undefined {
  const elsewhere = elsewhereOf(dataDir);
  if (elsewhere === undefined || existsSync(elsewhere)) return undefined;
  const pointer = pointerOf(dataDir);
  return failed(
    `The database of ${dataDir} was kept in ${elsewhere} (see ${pointer}), which is not there.\n` +
      'Restore it, or remove that file to begin anew.',
  );
}

function cannotKeep(dataDir: string, user: ServerUser | undefined, error: unknown): Outcome<never> {
  return failed(
    `Postgres cannot keep its data in ${dataDir}: ${(error as Error).message}.\n` +
      `Set DATA_DIR to a folder that ${user?.name ?? 'this user'} can get to and write to.`,
  );
}

function makeOwned(folder: string, user: ServerUser | undefined): string {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
}

function writePassword(file: string, deps: { dataDir: string; user: ServerUser | undefined }): Outcome<void> {
  const { dataDir, user } = deps;
  try {
    writeFileSync(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
    if (user) chownSync(file, user.uid, user.gid);
    return { ok: true, value: undefined };
  } catch (error) {
    return cannotKeep(dataDir, user, error);
  }
}

/**
 * Makes the cluster under another name first, so that a start that is killed half-way leaves no half cluster. The name
 * is another one each time, since its initdb may still be at work.
 */
async function initialise(
  { binaries, user, env, signal, onSpawn }: FolderDeps,
  { path, cluster, passwordFile }: { path: string; cluster: string; passwordFile: string },
): Promise<Outcome<void>> {
  // C.UTF-8 decides what counts as a letter outside ASCII (pg_trgm). macOS before 15 does not know it by this name.
  const locales = [['--locale=C.UTF-8'], ['--locale=C', '--builtin-locale=C.UTF-8']];
  let output = '';
  for (const locale of locales) {
    signal?.throwIfAborted();
    const partial = makeOwned(mkdtempSync(join(path, partialPrefix)), user);
    const result = await runCommand({
      file: binaries.initdb,
      args: [
        `--pgdata=${partial}`,
        '--username=postgres',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        ...locale,
      ],
      msMax: initMsMax,
      cwd: path,
      env: postgresEnv(env),
      ...runAs(user),
      signal,
      onSpawn,
    });
    output = result.output;
    if (result.code === 0) {
      renameSync(partial, cluster);
      return { ok: true, value: undefined };
    }
    removePartial(path);
  }
  signal?.throwIfAborted();
  return failed(`Postgres could not make its database cluster in ${path}:\n${output}`);
}

/** Removes half clusters, as far as that succeeds. */
function removePartial(path: string): void {
  for (const name of readdirSync(path).filter((entry) => entry.startsWith(partialPrefix))) {
    try {
      rmSync(join(path, name), { recursive: true, force: true });
    } catch {
      // Its initdb still writes into it. It stands in nobody's way, and goes at the next start.
    }
  }
}

/** Only what it needs: a PGPORT or PGDATA of the user must not reach it, and its messages are to be in English. */
export function postgresEnv({ PATH }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH, LC_ALL: 'C', TZ: 'UTC' };
}
