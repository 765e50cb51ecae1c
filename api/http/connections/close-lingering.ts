import type { Server as HttpServer, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

/** Each with the answers on it that are not closed yet, in the order of their requests. */
export type OpenConnections = Map<Socket, ServerResponse[]>;

/** After so many turns of the event loop without a new connection the kernel holds none; it hands out one a turn. */
const quietTurns = 3;
/** The most connections that the kernel holds for the port (`net.Server.listen`); any more came after closing began. */
const heldByKernelMax = 511;

/**
 * `http.Server.close` would close idle connections at once, and reset the request that is on its way on one of them
 * (T14: no resets). So only the port is closed; who still sends is answered with `Connection: close`, and what stays
 * idle is closed after `lingerMs`. A request that drips in is cut off after `arrivalMs`: later, it could not be
 * answered within the bound of the whole stop.
 */
export async function closeLingering(
  server: HttpServer,
  connections: OpenConnections,
  { lingerMs, arrivalMs }: { lingerMs: number; arrivalMs: number },
): Promise<void> {
  const startedMs = performance.now();
  await untilAllAccepted(server, arrivalMs);
  const closed = new Promise((resolve) => {
    NetServer.prototype.close.call(server, resolve);
  });
  const closeIdle = () => {
    server.closeIdleConnections();
    // To Node, a connection that has never sent a byte is late, not idle.
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
  };
  // A process that had no CPU for that long comes to its timers first. What has arrived meanwhile is read after them.
  const lingered = setTimeout(() => setImmediate(closeIdle), lingerMs);
  const tooLate = setTimeout(
    () => {
      for (const [socket, open] of connections) if (!open.some(({ req }) => req.complete)) socket.destroy();
    },
    Math.max(lingerMs, startedMs + arrivalMs - performance.now()),
  );
  await closed;
  clearTimeout(lingered);
  clearTimeout(tooLate);
}

/**
 * Waits until Node has taken the connections that the kernel has made: closing the port would reset them. Turns are
 * counted, not timed: a connection is answered in the turn after it was taken, and that may take long.
 */
function untilAllAccepted(server: HttpServer, atMostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const endMs = performance.now() + atMostMs;
    let [quiet, taken] = [0, 0];
    const onConnection = () => {
      quiet = 0;
      taken += 1;
    };
    server.on('connection', onConnection);
    const turn = () => {
      quiet += 1;
      if (quiet <= quietTurns && taken < heldByKernelMax && performance.now() < endMs) {
        setImmediate(turn);
        return;
      }
      server.off('connection', onConnection);
      resolve();
    };
    setImmediate(turn);
  });
}
