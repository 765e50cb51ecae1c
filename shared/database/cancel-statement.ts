import { createConnection } from 'node:net';
import type { Client } from 'pg';

/**
 * Says that a connection is there to cancel another session's statement (Postgres, "Message Formats", CancelRequest).
 */
const cancelRequestCode = 80_877_102;
const requestBytes = 16;
const waitMsMax = 2_000;

/**
 * Tells the server to cancel what a session is doing, over a connection for this message alone. The server does not say
 * what came of it; if it cannot be reached, nothing happens. Harmless for a session that is gone: nobody else has its
 * key, even behind a pooler.
 */
export function cancelStatement(connection: Client): void {
  const { host, port } = connection;
  // The session's key, as the server gave it when the connection was opened; node-postgres does not type it.
  const { processID, secretKey } = connection as unknown as { processID: number; secretKey: number };
  const request = Buffer.alloc(requestBytes);
  [requestBytes, cancelRequestCode, processID, secretKey].forEach((number, index) =>
    request.writeInt32BE(number, index * 4),
  );
  const socket = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection(port, host);
  socket.on('error', () => undefined);
  socket.setTimeout(waitMsMax, () => socket.destroy());
  socket.unref().end(request);
}
