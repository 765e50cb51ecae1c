import type { Socket } from 'node:net';

/**
 * Resets a connection; if its end is just on its way, only after that. Otherwise Node 20 would lose the socket, which
 * libuv then refuses to reset, and turn in circles at the end of the process, waiting for it.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isEnding && !socket.destroyed) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}
