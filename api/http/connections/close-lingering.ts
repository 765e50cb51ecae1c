import type { Server as HttpServer, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

/** Each with the answers on it that are not closed yet, in the order of their requests. */
export type OpenConnections = Map<Socket, ServerResponse[]>;

/** The kernel hands out one connection a turn of the event loop; after this many turns without one it holds none. */
const quietTurns = 3;
/** The most connections that the kernel holds for the port (`net.Server.listen`); any more came after closing began. */
const heldByKernelMax = 511;

/**
 * `http.Server.close` would close idle connections at once, and so reset a request that is on its way on one of them
 * (T14: no resets). So only the port is closed; a request that still comes is answered with `Connection: close`, and
 * what stays idle for `lingerMs`, or up to twice as long behind an answer, is closed. A request that has not arrived
 * whole after `arrivalMs` is cut off, since it could no longer be answered before the stop is forced.
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
  let busyBefore = busyAmong(connections);
  const closeIdle = () => {
    const busy = busyAmong(connections);
    // To Node a connection is idle once its answer has ended, though most of that may be in our own buffers.
    sparing([...busy, ...busyBefore], () => server.closeIdleConnections());
    busyBefore = busy;
    // Node does not count a connection that has never sent a byte as idle.
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
  };
  const cutOffLate = () => {
    for (const [socket, open] of connections) if (!open.some(({ req }) => req.complete)) socket.destroy();
  };
  // A process that had no CPU for so long runs its timers first, and only then reads what has arrived.
  const lingered = setInterval(() => setImmediate(closeIdle), lingerMs);
  const tooLate = setTimeout(
    () => setImmediate(cutOffLate),
    Math.max(lingerMs, startedMs + arrivalMs - performance.now()),
  );
  await closed;
  clearInterval(lingered);
  clearTimeout(tooLate);
}

function busyAmong(connections: OpenConnections): Socket[] {
  return [...connections].flatMap(([socket, open]) => (open.length > 0 ? [socket] : []));
}

/** Does something in which these sockets cannot be destroyed. */
function sparing(sockets: readonly Socket[], act: () => void): void {
  for (const socket of sockets) Object.defineProperty(socket, 'destroy', { value: () => socket, configurable: true });
  act();
  for (const socket of sockets) Reflect.deleteProperty(socket, 'destroy');
}

/**
 * Waits until Node has accepted the connections that the kernel holds: closing the port would reset them. Counts turns
 * of the event loop and not time, because a turn that answers requests may be long.
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
