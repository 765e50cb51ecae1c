import { createConnection } from 'node:net';
import type { BackendKey } from './raw-connection.js';

/** The code that a client sends in place of a startup message to cancel another session's statement (Postgres, "Message Formats"). */
const cancelRequestCode = 80_877_102;
const requestBytes = 16;
const waitMsMax = 2_000;

/**
 * Tells the server to end what a session is at, over a connection that lasts for the message alone. It says nothing of what
 * came of it, and where it cannot be reached it is as if nobody had asked. Where the session is gone the key means nobody;
 * nor does it to a pooler, which forgets it with the connection.
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
