import type { IncomingMessage, ServerResponse } from 'node:http';

/** The answers to clients that hold the body back until they are told to go on (`Expect: 100-continue`, RFC 9110 §10.1.1). */
const holding = new WeakSet<ServerResponse>();

export function holdBack(res: ServerResponse): void {
  holding.add(res);
}

/**
 * Tells a client that holds its body back to send it: everything that is judged without the body is taken. Not once it is
 * answered (it may have come too late while it waited for its place): Node would write the 100 behind that answer.
 */
export function goOn(res: ServerResponse): void {
  if (holding.delete(res) && !res.headersSent) res.writeContinue();
}

/** Whether the body may never come: then nobody can say where on the connection the next request begins. */
export function isHeldBack(res: ServerResponse): boolean {
  return holding.has(res);
}

/** Whether a body comes with the request; of one without it nobody has to wait for the word to go on. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
