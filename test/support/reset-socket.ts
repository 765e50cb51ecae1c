import type { Socket } from 'node:net';

/**
 * Resets a connection, in the next turn where its end is just on its way: Node 20 would lose that socket, which libuv then
 * refuses to reset, and turn in circles at the end of the process, waiting for it.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isEnding && !socket.destroyed) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}
