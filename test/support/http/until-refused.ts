import { connect } from 'node:net';
import { until } from '../time/until.js';

/** Waits until nobody listens on a port of this machine any more. */
export async function untilRefused(port: number, deadlineMs: number): Promise<void> {
  const isRefused = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => {
        socket.destroy();
        resolve(false);
      });
      socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
    });
  await until(isRefused, { deadlineMs, what: 'the port to be closed' });
}
