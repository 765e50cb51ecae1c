import type { Reads } from '../reads.js';
import type { AppMiddleware } from './request-state.js';

/** The kernel takes what is smaller at once, or nearly. */
const largeBytes = 65_536;

/** Counts each large answer as untaken until its client, or the kernel for it, has taken it all. */
export function countUntaken(reads: Pick<Reads, 'answering'>): AppMiddleware {
  return async (ctx, next) => {
    await next();
    const { res, req, state } = ctx;
    const { socket } = req;
    const bytes = res.writableLength;
    if (bytes < largeBytes || state.caller === undefined || socket.destroyed) return;
    const taken = reads.answering(state.caller.shop.id, bytes);
    const end = () => {
      res.off('finish', end);
      socket.off('close', end);
      taken();
    };
    // If the connection breaks, Node 20 does not say so to an answer behind another, but the connection closes.
    socket.setMaxListeners(0).once('close', end);
    res.once('finish', end);
  };
}
