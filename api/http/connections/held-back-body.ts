import type { IncomingMessage, ServerResponse } from 'node:http';

// For clients that hold the body back until they are told to send it (`Expect: 100-continue`, RFC 9110 §10.1.1).

/** The answers to requests whose client has not been told yet. */
const holding = new WeakSet<ServerResponse>();

export function holdBack(res: ServerResponse): void {
  holding.add(res);
}

/**
 * Tells a client that holds its body back to send it, because all checks that need no body have passed. Does nothing
 * for any other client, nor once the request is answered (its time may run out while it waits for its place): Node
 * would write the 100 after that answer.
 */
export function sendContinue(res: ServerResponse): void {
  if (holding.delete(res) && !res.headersSent) res.writeContinue();
}

/** Whether the body may never come: then nobody can say where on the connection the next request begins. */
export function isHeldBack(res: ServerResponse): boolean {
  return holding.has(res);
}

/** Whether a body comes with the request; without one, there is nothing to hold back. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
