import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { clusterIn, locatePostgresFolder } from './postgres-folder.js';

export type OwnIdentity = Promise<Outcome<string | undefined>>;

/** Every cluster since Postgres 15 is made with its database `postgres` under this number (`PostgresDbOid`). */
const postgresOid = 5;
/** A cluster that is still to be made has an identity which no worker can name. */
const notMadeYet = 'not made yet';

/**
 * What `readDatabaseIdentity` would tell of the embedded Postgres of a folder, which need not run for it: the number of
 * the cluster is the first field of pg_control (`ControlFileData`), in the byte order of the machine.
 */
export function readClusterIdentity(dataDir: string): Outcome<string> {
  const cluster = clusterIn(locatePostgresFolder(dataDir));
  const systemIdentifier = new BigInt64Array(1);
  try {
    const file = openSync(join(cluster, 'global/pg_control'), 'r');
    try {
      readSync(file, systemIdentifier);
    } finally {
      closeSync(file);
    }
    return { ok: true, value: `${systemIdentifier[0]}.${postgresOid}` };
  } catch (error) {
    // Where the folder is closed to us, `existsSync` would say that nothing is there.
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && !existsSync(cluster) ? { ok: true, value: notMadeYet } : failed((error as Error).message);
  }
}
