import type { Socket } from 'node:net';

/** Is told when an answer on the connection is opened, and when it is closed. */
export interface ReadAhead {
  opened: () => void;
  closed: () => void;
}

/** At this many open answers a connection is no longer read; at half as many it is read again. */
const openMax = 100;

/**
 * Stops reading a connection whose client keeps sending without waiting for answers. Node does so only once answers are
 * not taken; requests that wait for the one before them have none yet, and a hundred thousand of them fit into 25 MB.
 */
export function boundReadAhead(socket: Socket, open: { readonly length: number }): ReadAhead {
  let isAhead = false;
  // The socket is also resumed by reading a body, and when it gets its turn (`../connection-turns.ts`).
  socket.on('resume', () => {
    if (isAhead) socket.pause();
  });
  return {
    opened() {
      if (isAhead || open.length < openMax) return;
      isAhead = true;
      socket.pause();
    },
    closed() {
      if (!isAhead || open.length > openMax / 2) return;
      isAhead = false;
      socket.resume();
    },
  };
}
