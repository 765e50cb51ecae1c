import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Reads } from '../reads.js';
import type { AppMiddleware } from './request-state.js';

const lookEveryMs = 1_000;

/**
 * Ends connections whose client does not read: Node's timeouts are for what arrives, and an answer that nobody takes
 * would keep its connection and its bytes for as long as the client likes (20 pages of 10 MB each: 600 MiB). Of each
 * connection only the first answer counts: the others cannot leave before it. A look at all once a second replaces a
 * timer for each, and time is counted in looks, so that a process that stood still blames nobody for it.
 *
 * @param connections each with the answers on it that are not closed yet, in the order of their requests
 * @param takenMsMax from when an answer was given
 * @returns a function that ends the looking
 */
export function endUntakenAnswers(
  connections: ReadonlyMap<Socket, readonly ServerResponse[]>,
  takenMsMax: number,
): () => void {
  const looksMax = Math.ceil(takenMsMax / lookEveryMs);
  const looksAt = new WeakMap<ServerResponse, number>();
  const looking = setInterval(() => {
    for (const [socket, [first]] of connections) {
      if (first?.writableEnded !== true) continue;
      const looks = looksAt.get(first) ?? 0;
      if (looks < looksMax) looksAt.set(first, looks + 1);
      else socket.destroy();
    }
  }, lookEveryMs);
  return () => clearInterval(looking);
}

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
