import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { readPlatformTokenKey } from '../standalone/data-folder.js';
import { clusterIn, locatePostgresFolder, passwordFileIn, urlOf } from '../standalone/postgres-folder.js';
import { isPostmasterOf, readPidFile } from '../standalone/postgres-probe.js';

export interface RunningInstance {
  databaseUrl: string;
  /** Undefined where none is given, and the data folder has none that is in use. */
  platformTokenKey: string | undefined;
}

/**
 * Finds the embedded database of a running `npm start`, so that `npm run manage` works beside the demo without any
 * settings: the password is in a file of its folder, the port in postmaster.pid.
 *
 * @param givenKey the operators' own, in place of the one that the data folder keeps
 */
export function findRunningInstance(dataFolder: string, givenKey?: string): Outcome<RunningInstance> {
  const nothing = failed(
    `DATABASE_URL is not set, and no npm start runs its own database in ${dataFolder}.\n` +
      'Set DATABASE_URL to postgres://user:password@host:port/name, or run npm start first (DATA_DIR says where it keeps its data).',
  );
  try {
    const folder = locatePostgresFolder(join(dataFolder, 'postgres'));
    const cluster = clusterIn(folder);
    const server = readPidFile(cluster);
    if (server?.readyPort === undefined || !isPostmasterOf(server.pid, cluster)) return nothing;
    const password = readFileSync(passwordFileIn(folder), 'utf8').trim();
    const databaseUrl = urlOf({ password, port: server.readyPort });
    if (givenKey !== undefined) return { ok: true, value: { databaseUrl, platformTokenKey: givenKey } };
    const key = readPlatformTokenKey(dataFolder);
    return key.ok ? { ok: true, value: { databaseUrl, platformTokenKey: key.value } } : key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    return failed(
      `The database of npm start in ${dataFolder} belongs to another user: ${(error as Error).message}.\n` +
        'Run this as that user, or set DATABASE_URL.',
    );
  }
}
