/**
 * Lets a command whose answer is its stdout end in order if that cannot be written. A reader that went away (`| head`)
 * has what it wanted; an answer lost otherwise, say on a full disk, is reported as a failure. Without a listener either
 * error would end the process where it stands, with a stack trace.
 */
export function outliveLostOutput(process: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exitCode'>): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The answer could not be written: ${error.message}.\n`);
    process.exitCode = 1;
  });
}
