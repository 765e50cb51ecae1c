import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { refuseAt } from '../../../shared/contract/faults.js';
import { fail, unavailable } from '../../../shared/domain/errors.js';
import type { RequestError } from '../../../shared/domain/errors.js';
import { renderRaw, sendReply } from '../envelope.js';
import { refuseUnrouted } from '../refuse-unrouted.js';
import { newRequestId } from '../request-id.js';
import { keptState } from '../request-state.js';
import type { RefusalReply } from '../request-state.js';
import { endDraining, endDrainingAfter, isEnded } from './end-draining.js';
import { answerBefore } from './pipelined.js';

/** What Node's parser raises for a connection, which is declared a `Duplex` and is always a socket. */
type ParserFault = Error & { code?: string; rawPacket?: Buffer };

interface ParserFaultDeps {
  /** Each with the answers on it that are not closed yet, in the order of their requests. */
  connections: ReadonlyMap<Duplex, readonly ServerResponse[]>;
  /** The last request of a connection that was answered before it had arrived whole. The rest may have come since. */
  cutShort: WeakMap<Duplex, IncomingMessage>;
  allowedMethods: (path: string) => string | undefined;
  /** Told of each refusal of what the app never saw: no request at all, or one that still waited its turn. */
  onRefused: (error: RequestError, requestId: string) => void;
}

/**
 * Answers what Node's parser refused, in our JSON (contract §1 "Methods"). Nothing is ever written into an answer that
 * is under way, nor after one that was given before its request had arrived whole: a client would take it for the
 * answer to its next request.
 */
export function answerParserFault(error: ParserFault, socket: Duplex, deps: ParserFaultDeps): void {
  const open = deps.connections.get(socket) ?? [];
  const last = open.at(-1);
  if (isEnded(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
  } else if (last === undefined) {
    if (deps.cutShort.get(socket)?.complete === false) endDraining(socket);
    else end(socket, replyTo(error, deps), deps, acceptOf(error));
  } else if (!last.req.complete && !last.headersSent) {
    // The fault is in the body of this request. If others are still to be answered, Node keeps this answer until then.
    const isBegun = !isWaiting(last, open);
    const reply = error.code === tooLate && !isBegun ? heldUp : replyTo(error, deps);
    const { requestId = newRequestId(), headers } = keptState(last) ?? {};
    if (!isBegun) deps.onRefused(reply.result.error, requestId);
    sendReply(last, { requestId, reply, ...(headers && { headers }), lastOfConnection: true });
    // Node does not emit this for a request that was answered, and whoever reads its body would wait for ever.
    last.req.emit('aborted');
  } else {
    // The fault comes after requests that are still being answered: they get their answers, then the connection ends.
    endDrainingAfter(last, socket);
  }
}

const tooLate = 'ERR_HTTP_REQUEST_TIMEOUT';

/** A body is not read before its request begins: if it does not arrive in time, that is not its client's fault. */
const heldUp: RefusalReply = {
  result: unavailable('What was sent before it on this connection took too long. This request was not applied.'),
};

function isWaiting(last: ServerResponse, open: readonly ServerResponse[]): boolean {
  const before = open.filter((res) => res !== last);
  return answerBefore(before, last.req) !== undefined;
}

/**
 * CONNECT asks for a tunnel, and there are none here: 405 with the methods of the path. Node hands over the bare
 * socket, so this answer would overtake one that is under way, and be taken for it. In that case the connection just
 * ends after the other answer.
 */
export function answerConnect(
  { url = '', headers }: IncomingMessage,
  socket: Duplex,
  deps: Omit<ParserFaultDeps, 'cutShort'>,
): void {
  const last = deps.connections.get(socket)?.at(-1);
  if (last === undefined) {
    const path = target.exec(url)?.[1] ?? '';
    end(socket, refuseUnrouted(deps.allowedMethods(path) ?? 'GET, PATCH'), deps, headers.accept);
    return;
  }
  // A client that is gone meanwhile must not become a fault of the process.
  socket.on('error', () => socket.destroy());
  endDrainingAfter(last, socket);
}

function replyTo({ code, rawPacket }: ParserFault, { allowedMethods }: ParserFaultDeps): RefusalReply {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { result: fail('HEADERS_TOO_LARGE', 'The request line and the headers are larger than 16 KiB.') };
    case tooLate:
      return { result: fail('REQUEST_TIMEOUT', 'The request took too long to arrive.') };
    // If the request line is well-formed, only its method is at fault. Methods of RTSP and HTTP/2 (PLAY, PRI) are known
    // to the parser, which refuses them only when it comes to the version.
    case 'HPE_INVALID_METHOD':
    case 'HPE_INVALID_CONSTANT':
    case 'HPE_INVALID_VERSION': {
      const [, method = '', path] = requestLine.exec(rawPacket?.toString('latin1') ?? '') ?? [];
      if (path === undefined) return notHttp;
      const allowed = allowedMethods(path);
      // A method that the path has is not at fault, but the line's end: a bare LF is refused under the same codes.
      return allowed?.split(', ').includes(method) ? notHttp : refuseUnrouted(allowed);
    }
    case 'HPE_INVALID_URL':
      return badTarget;
    default:
      return notHttp;
  }
}

/**
 * curl, for one, sends an address as it is typed, umlauts and all. The `details` path is that of `refuseBadTarget`:
 * whether path or query is at fault is not known.
 */
const badTarget: RefusalReply = {
  result: refuseAt(
    'path',
    'The target must begin with / or be a whole address; ' +
      'what is not printable ASCII in the path or the query must be percent-encoded.',
  ),
};

/**
 * A request line: any method, and a target that is a path or a whole address (RFC 9112 §3). Captured are the method and
 * the path, without its query. Empty lines may come before it (§2.2), as for Node's parser. A text matches in one way
 * only: with two, a packet of one long word (64 KiB) took seconds.
 */
const requestLine =
  /^[\r\n]*([!#$%&'*+.^`|~\w-]+) (?:[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]*)?(\/[^\s?#]*)(?:[?#]\S*)? HTTP\/1\.[01]\r?\n/;

/** The path of a target that is a path or a whole address. `host:port`, the usual target of CONNECT, has none. */
const target = /^(?:https?:\/\/[^/?#]*)?(\/[^?#]*)/i;

/** The Accept of a refused request, if the packet that the parser refused holds it. */
function acceptOf({ rawPacket }: ParserFault): string | undefined {
  return /\r\naccept:[ \t]*([^\r\n]*)/i.exec(rawPacket?.toString('latin1') ?? '')?.[1];
}

const notHttp: RefusalReply = { result: fail('INVALID_INPUT', 'This is not a valid HTTP request.') };

function end(
  socket: Duplex,
  reply: RefusalReply,
  { onRefused }: Pick<ParserFaultDeps, 'onRefused'>,
  accept?: string,
): void {
  const requestId = newRequestId();
  onRefused(reply.result.error, requestId);
  endDraining(socket, renderRaw(requestId, reply, accept));
}
