import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { commandLine, workingDirectory } from './processes.js';
import { sameFile } from './same-file.js';

const probeMsMax = 1_000;

/**
 * postmaster.pid: pid, data directory, start, port, socket directory, address, memory key, state, a line each
 * (pidfile.h).
 */
export function readPidFile(cluster: string): { pid: number; readyPort: number | undefined } | undefined {
  const path = join(cluster, 'postmaster.pid');
  const lines = readIfThere(path)?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, readyPort: lines[7]?.trim() === 'ready' ? Number(lines[3]) : undefined };
}

/** @throws EACCES if it is another user's, where `existsSync` would say that it is not there */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/**
 * Whether a process is the server of this cluster. Its command line tells a postmaster; its working directory, or the
 * command line if the system hides that, tells the folder. The same folder has many spellings.
 */
export function isPostmasterOf(pid: number, cluster: string): boolean {
  const started = / -D (.+?) -p \d+ /.exec(`${commandLine(pid)} `)?.[1];
  if (started === undefined) return false;
  // The postmaster enters its folder before it writes postmaster.pid.
  return sameFile(workingDirectory(pid) ?? started, cluster);
}

/**
 * Whether a Postgres answers on a port: to SSLRequest (8 bytes: length, 80877103) it says S or N before any login. A
 * connection alone proves nothing: the kernel accepts one even for a stopped process.
 */
export function answersAsPostgres(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(probeMsMax, () => settle(false));
    socket.once('connect', () => socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])));
    socket.once('data', (data) => settle(data[0] === 0x4e || data[0] === 0x53));
    socket.once('error', () => settle(false));
    socket.once('end', () => settle(false));
  });
}
