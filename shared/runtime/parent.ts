import type { Shutdown } from './shutdown.js';

/**
 * For a process that was started with an IPC channel, as `npm start` and the tests do: the end of the channel is the
 * end of the process, so that a parent killed with −9 leaves nothing behind.
 *
 * @returns tells the parent something; does nothing without one
 */
export function followParent(shutdown: Shutdown): (message: object) => void {
  const { channel } = process;
  if (channel === undefined) return () => undefined;
  process.once('disconnect', () => void shutdown.run('the parent is gone'));
  // A listener keeps the channel, and with it the process, open; a clean stop must not need the parent.
  channel.unref();
  return (message) => {
    process.send?.(message);
  };
}
