import { accessSync, chmodSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedDirectory } from './server-user.js';
import type { ServerUser } from './server-user.js';

/**
 * The folder for what can be fetched or copied again, made when it is missing: the user's cache, for root also the
 * machine's (`/root` is usually closed to the user that servers run as), else the folder for temporary files.
 * `undefined` when none of them can be written to and entered by `user`.
 */
export function cacheFolder(env: NodeJS.ProcessEnv, user?: ServerUser): string | undefined {
  const uid = process.getuid?.() ?? 0;
  const candidates = [
    ...(env.XDG_CACHE_HOME ? [join(env.XDG_CACHE_HOME, 'raw-materials')] : cacheAtHome()),
    ...(uid === 0 ? ['/var/cache/raw-materials'] : []),
    join(tmpdir(), `raw-materials-${uid}`),
  ];
  return candidates.find((folder) => isUsable(folder, uid) && !closedDirectory(folder, user));
}

/** None without HOME for a user who is a bare number: Node then asks the password file, and throws. */
function cacheAtHome(): string[] {
  try {
    return [join(homedir(), '.cache', 'raw-materials')];
  } catch {
    return [];
  }
}

function isUsable(folder: string, uid: number): boolean {
  try {
    if (mkdirSync(folder, { recursive: true })) chmodSync(folder, 0o755);
    const stat = lstatSync(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
    // What is run from here must not be writable by others: anybody may create a name in the temporary folder first.
    return stat.isDirectory() && stat.uid === uid && (stat.mode & 0o022) === 0;
  } catch {
    return false;
  }
}
