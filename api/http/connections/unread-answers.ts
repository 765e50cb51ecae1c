import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const lookEveryMs = 1_000;

/**
 * Ends connections whose client does not read. Node's timeouts are only for what arrives, so an answer that nobody
 * reads would keep its connection and its bytes for as long as the client likes (20 pages of 10 MB each: 600 MiB). Of
 * each connection only the first answer counts, because the others cannot leave before it. One look at all of them a
 * second replaces a timer for each, and time is counted in looks: a process that stood still must not blame its
 * clients.
 *
 * @param connections each with the answers on it that are not closed yet, in the order of their requests
 * @param answerMsMax how long a client may take to read an answer, from when it was written
 * @returns a function that ends the looking
 */
export function endUnreadAnswers(
  connections: ReadonlyMap<Socket, readonly ServerResponse[]>,
  answerMsMax: number,
): () => void {
  const looksMax = Math.ceil(answerMsMax / lookEveryMs);
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
