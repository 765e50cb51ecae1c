import type { IncomingMessage, ServerResponse } from 'node:http';

const safeMethods = new Set(['GET', 'HEAD']);
const isSafe = ({ method = '' }: IncomingMessage) => safeMethods.has(method);

/**
 * If requests are sent without awaiting the answers before them, a server may work side by side on those that only read
 * (RFC 9112 §9.3.2). Others wait: a change could overtake the one that was sent before it, and a read could overtake
 * the change whose result it is to show.
 *
 * @param open the answers that are open on the request's connection, without its own, in the order of their requests
 * @returns the one that has to be closed before the request may begin, and with it all before it; undefined for none
 */
export function answerBefore(open: readonly ServerResponse[], req: IncomingMessage): ServerResponse | undefined {
  if (isSafe(req) && open.every((res) => isSafe(res.req))) return undefined;
  return open.at(-1);
}

/**
 * Begins a request once the answer before it is closed; not if that was the last of the connection, or the connection
 * broke, nor if this one was answered meanwhile, because its body was no HTTP or came too late.
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

/** Node takes a request to upgrade as the last of its packet and drops the rest: nothing may come behind it. */
export function isUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

/**
 * Says on the last of a connection's open answers that it ends the connection, and no longer on those before it: Node
 * would drop all answers behind the first that says so.
 */
export function endWithLast(open: readonly ServerResponse[]): void {
  const last = open.at(-1);
  if (last?.headersSent === false) last.setHeader('Connection', 'close');
  for (const res of open.slice(0, -1)) if (!res.headersSent && !isUpgrade(res.req)) res.removeHeader('Connection');
}
