import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { commandLine, workingDirectory } from './processes.js';
import { sameFile } from './same-file.js';

const probeMsMax = 1_000;

/** postmaster.pid: pid, data directory, start, port, socket directory, address, memory key, state, a line each (pidfile.h). */
export function readPidFile(cluster: string): { pid: number; readyPort: number | undefined } | undefined {
  const path = join(cluster, 'postmaster.pid');
  const lines = readIfThere(path)?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, readyPort: lines[7]?.trim() === 'ready' ? Number(lines[3]) : undefined };
}

/** @throws EACCES where it is another user's, which to `existsSync` is not there */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/**
 * Whether a process is the server of this cluster: a postmaster by the words it was started with, and of this folder by its
 * working directory, or by those words where the system does not tell it. The same folder has many spellings.
 */
export function isPostmasterOf(pid: number, cluster: string): boolean {
  const started = / -D (.+?) -p \d+ /.exec(`${commandLine(pid)} `)?.[1];
  if (started === undefined) return false;
  // The postmaster enters its folder before it writes postmaster.pid.
  return sameFile(workingDirectory(pid) ?? started, cluster);
}

/**
 * Whether a Postgres answers on a port: to SSLRequest (8 bytes: length, 80877103) it says S or N before any login.
 * A stopped process would still accept the connection, for the kernel does that, and so a connection proves nothing.
 */
export function answersAsPostgres(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(probeMsMax, () => {
      settle(false);
    });
    socket.once('connect', () => socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])));
    socket.once('data', (data) => {
      settle(data[0] === 0x4e || data[0] === 0x53);
    });
    socket.once('error', () => {
      settle(false);
    });
    socket.once('end', () => {
      settle(false);
    });
  });
}
