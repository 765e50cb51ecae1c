import type { IncomingMessage, ServerResponse } from 'node:http';

const safeMethods = new Set(['GET', 'HEAD']);
const isSafe = ({ method = '' }: IncomingMessage) => safeMethods.has(method);

/**
 * If a client sends requests without waiting for the answers, a server may work on several of them at once as long as
 * they only read (RFC 9112 §9.3.2). Any other request waits: a change could overtake the change that was sent before
 * it, and a read the change whose result it is to show.
 *
 * @param open the answers that are open on the request's connection, without its own, in the order of their requests
 * @returns the answer that must be closed before the request may begin, the last one; undefined if it may begin at once
 */
export function answerBefore(open: readonly ServerResponse[], req: IncomingMessage): ServerResponse | undefined {
  if (isSafe(req) && open.every((res) => isSafe(res.req))) return undefined;
  return open.at(-1);
}

/**
 * Begins a request once the answer before it is closed. It never begins if that answer ended the connection, if the
 * connection broke, or if the request was refused meanwhile because its body was not HTTP or came too late.
 */
export function beginAfter(before: ServerResponse | undefined, res: ServerResponse, begin: () => void): void {
  if (before === undefined) {
    begin();
    return;
  }
  const { socket } = res.req;
  before.once('close', () => {
    if (socket.writable && !res.headersSent) begin();
  });
}

/** Node drops whatever follows such a request in the same packet, so it must be the last of its connection. */
export function isUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

/**
 * Puts `Connection: close` on the last of a connection's open answers, and takes it off those before: Node would drop
 * all answers after the first that has it.
 */
export function endWithLast(open: readonly ServerResponse[]): void {
  const last = open.at(-1);
  if (last?.headersSent === false) last.setHeader('Connection', 'close');
  for (const res of open.slice(0, -1)) if (!res.headersSent && !isUpgrade(res.req)) res.removeHeader('Connection');
}
