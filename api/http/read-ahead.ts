import type { Socket } from 'node:net';

/** Told of each answer on a connection that was opened, and closed. */
export interface ReadAhead {
  opened: () => void;
  closed: () => void;
}

/** So many answers are open on a connection when it is no longer read; from the half of them on it is again. */
const openMax = 100;

/**
 * Stops reading a connection whose client sends and sends without waiting for answers. Node does so once answers lie there
 * untaken; of requests that wait for the one before them there are none yet, and a hundred thousand of them fit into 25 MB.
 */
export function boundReadAhead(socket: Socket, open: { readonly length: number }): ReadAhead {
  let isAhead = false;
  // Whoever reads a body, or gives the connection its turn, resumes it.
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
