import type { Reads } from '../reads.js';
import type { AppMiddleware } from './request-state.js';

/** Smaller answers fit into the kernel's buffer, or nearly. */
const largeBytes = 65_536;

/** Counts each large answer as unread until the kernel has taken the last of it, which waits for the client. */
export function countUnread(reads: Pick<Reads, 'addUnread'>): AppMiddleware {
  return async (ctx, next) => {
    await next();
    const { res, req, state } = ctx;
    const { socket } = req;
    const bytes = res.writableLength;
    if (bytes < largeBytes || state.caller === undefined || socket.destroyed) return;
    const remove = reads.addUnread(state.caller.shop.id, bytes);
    const end = () => {
      res.off('finish', end);
      socket.off('close', end);
      remove();
    };
    // If the connection breaks, Node 20 does not tell an answer that waits for another, so the socket is asked too.
    socket.setMaxListeners(0).once('close', end);
    res.once('finish', end);
  };
}
