import { exitCodes } from './exit-codes.js';

/**
 * Handles a stdout that cannot be written, for a command whose answer goes there. If the reader went away (`| head`),
 * it has what it wanted. Otherwise, say on a full disk, the answer is lost: that is said on stderr, and the exit code
 * is 1. A stderr that cannot be written is passed over: what is said there on the way is not the answer. Without a
 * listener each of these errors would end the process where it stands, with a stack trace.
 */
export function outliveLostOutput(process: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exitCode'>): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The answer could not be written: ${error.message}.\n`);
    process.exitCode = exitCodes.failed;
  });
  process.stderr.on('error', () => undefined);
}
