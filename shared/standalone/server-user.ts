import { statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { runCommand } from './processes.js';

/** Whom a server runs as. `undefined` everywhere means: as this process. */
export interface ServerUser {
  uid: number;
  gid: number;
  name: string;
}

/** The options that make a child process run as this user. */
export function runAs(user: ServerUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid };
}

const idMsMax = 5_000;

/**
 * The user that Postgres runs as. Postgres refuses to run as root, and initdb refuses a user without an entry in the
 * password file ("could not look up effective user ID"), so a bare number is not enough. If we are root, it is the
 * owner of the folder, unless that is root; else `postgres`, if there is one; else `nobody`, which every Linux and
 * macOS has.
 */
export async function findServerUser(folder: string): Promise<Outcome<ServerUser | undefined>> {
  if (process.getuid?.() !== 0) return { ok: true, value: undefined };
  const owner = ownerOf(folder);
  if (owner && owner.uid !== 0) return { ok: true, value: owner };
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = [await numberOf('-u', name), await numberOf('-g', name)];
    if (uid !== undefined && gid !== undefined) return { ok: true, value: { uid, gid, name } };
  }
  return failed(
    'Postgres refuses to run as root, and this machine has no user "postgres" or "nobody" to run it as.\n' +
      'Start as another user, or set DATABASE_URL to a Postgres of your own.',
  );
}

/**
 * The outermost directory on the way to a path that this user may not enter, if any. Access lists are not looked at.
 */
export function closedDirectory(path: string, user: ServerUser | undefined): string | undefined {
  if (!user) return undefined;
  const absolute = resolve(path);
  const parent = dirname(absolute);
  const above = parent === absolute ? undefined : closedDirectory(parent, user);
  return above ?? (mayEnter(absolute, user) ? undefined : absolute);
}

function mayEnter(path: string, user: ServerUser): boolean {
  const stat = statOf(path);
  if (!stat?.isDirectory()) return true;
  const bit = stat.uid === user.uid ? 0o100 : stat.gid === user.gid ? 0o010 : 0o001;
  return (stat.mode & bit) !== 0;
}

function ownerOf(folder: string): ServerUser | undefined {
  const stat = statOf(folder);
  return stat && { uid: stat.uid, gid: stat.gid, name: `the user ${stat.uid}` };
}

/** `undefined` also where a file stands in the way: making the folder will say so. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

async function numberOf(option: '-u' | '-g', name: string): Promise<number | undefined> {
  const { code, output } = await runCommand({ file: 'id', args: [option, name], msMax: idMsMax });
  // macOS prints nobody's −2 as 4294967294; Node takes the signed form only.
  return code === 0 && /^\d+$/.test(output) ? Number(output) | 0 : undefined;
}
