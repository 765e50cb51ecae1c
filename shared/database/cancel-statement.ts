import { createConnection } from 'node:net';
import type { BackendKey } from './raw-connection.js';

/**
 * The code that a client sends in place of a startup message to cancel another session's statement (Postgres, "Message
 * Formats").
 */
const cancelRequestCode = 80_877_102;
const requestBytes = 16;
const waitMsMax = 2_000;

/**
 * Tells the server to cancel what a session is doing, over a connection that lasts for this message alone. The server
 * does not say what came of it; if it cannot be reached, nothing happens. The key of a session that is gone means
 * nobody, not even to a pooler, which forgets it with the connection.
 */
export function cancelStatement({ host, port, processId, secretKey }: BackendKey): void {
  const request = Buffer.alloc(requestBytes);
  [requestBytes, cancelRequestCode, processId, secretKey].forEach((number, index) =>
    request.writeInt32BE(number, index * 4),
  );
  const socket = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection(port, host);
  socket.on('error', () => undefined);
  socket.setTimeout(waitMsMax, () => socket.destroy());
  socket.unref().end(request);
}
