import { createServer } from 'node:http';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { fail } from '../../../shared/domain/errors.js';
import type { Refusal, RequestError } from '../../../shared/domain/errors.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { sendReply } from '../envelope.js';
import { newRequestId } from '../request-id.js';
import { refuseAmbiguousHeader } from './ambiguous-header.js';
import { createAnswerLimit } from './answer-limit.js';
import type { AnswerLimit } from './answer-limit.js';
import { closeLingering } from './close-lingering.js';
import type { OpenConnections } from './close-lingering.js';
import { endDrainingBehindLast } from './end-draining.js';
import { announcesBody, holdBack, sendContinue } from './held-back-body.js';
import { refuseHost } from './host.js';
import { answerConnect, answerParserFault } from './parser-faults.js';
import { answerBefore, beginAfter, endWithLast, isUpgrade } from './pipelined.js';
import { boundReadAhead } from './read-ahead.js';
import type { ReadAhead } from './read-ahead.js';
import { refuseTransferCoding } from './transfer-coding.js';
import { endUnreadAnswers } from './unread-answers.js';

export interface ApiServer {
  /** @returns the port; if 0 was asked for, a free one */
  listen(port: number, host: string): Promise<number>;
  /**
   * Takes no new connection, answers what is under way and what still comes on open ones, and ends when all are closed;
   * a request that has not arrived whole within `arrivalMs` is cut off.
   */
  close(): Promise<void>;
}

export interface ApiServerDeps {
  handle: (req: IncomingMessage, res: ServerResponse) => unknown;
  /** The methods of a path as `Allow` lists them; undefined for a path that is not there. */
  allowedMethods: (path: string) => string | undefined;
  /** Told of each request that is refused here, which the app never sees. */
  onRefused: (error: RequestError, requestId: string) => void;
  logger: Logger;
  /**
   * `headersMs`, `requestMs`: the longest that the head of a request, or all of it, may take to arrive. `answerMs`: the
   * longest that a client may take to read an answer. `lingerMs`: while closing, an idle connection is kept this long,
   * because a request may already be on its way. `arrivalMs`: from the start of closing, a request must have arrived
   * whole within this; at least `lingerMs`.
   */
  timeouts: Record<'headersMs' | 'requestMs' | 'answerMs' | 'keepAliveMs' | 'lingerMs' | 'arrivalMs', number>;
  connectionsMax: number;
}

const headerBytesMax = 16_384;
/** How often Node looks for connections past their timeouts, so they may end this much late. */
const timeoutCheckMs = 1_000;
const dropLogEveryMs = 10_000;

/**
 * Node's server with all limits set. What Node would answer by itself is answered in our form, so that no answer leaves
 * without a request id (contract §1).
 */
export function createApiServer(deps: ApiServerDeps): ApiServer {
  const { timeouts, connectionsMax } = deps;
  const server = createBoundedServer(timeouts, connectionsMax);
  const connections: OpenConnections = new Map();
  // Only of connections with such a request: keeping the last one of every open connection took 4 KiB each.
  const cutShort = new WeakMap<Duplex, IncomingMessage>();
  const readAhead = new WeakMap<Socket, ReadAhead>();
  const answerLimit = createAnswerLimit();
  let closing = false;
  server.on('connection', (socket) => {
    const open: ServerResponse[] = [];
    connections.set(socket, open);
    endDrainingBehindLast(socket);
    readAhead.set(socket, boundReadAhead(socket, open));
    socket.once('close', () => {
      connections.delete(socket);
      answerLimit.closed(open.splice(0).length);
    });
  });
  const follow = (req: IncomingMessage, res: ServerResponse, open: ServerResponse[]) => {
    track(req, res, { open, cutShort, readAhead: readAhead.get(req.socket), answerLimit });
    if (isUpgrade(req)) res.setHeader('Connection', 'close');
    if (closing) endWithLast(open);
  };
  /** The open answers of the connection, if another may be opened there. */
  const admit = ({ socket }: IncomingMessage): ServerResponse[] | undefined => {
    const open = connections.get(socket);
    return open !== undefined && answerLimit.admitOrCutOff(socket, open.length) ? open : undefined;
  };
  const begin = (req: IncomingMessage, res: ServerResponse) => {
    const open = admit(req);
    if (open === undefined) return;
    const before = answerBefore(open, req);
    follow(req, res, open);
    beginAfter(before, res, () => {
      if (!announcesBody(req)) sendContinue(res);
      const badHeader = refuseHost(req) ?? refuseAmbiguousHeader(req);
      const unknownCoding = refuseTransferCoding(req);
      if (badHeader !== undefined) refuse(deps, res, badHeader);
      // Client and server may disagree where this body ends, so no request may follow it.
      else if (unknownCoding !== undefined) refuse(deps, res, unknownCoding, { lastOfConnection: true });
      else deps.handle(req, res);
    });
  };
  server.on('request', begin);
  server.on('checkContinue', (req, res) => {
    holdBack(res);
    begin(req, res);
  });
  server.on('checkExpectation', (req, res) => {
    const open = admit(req);
    if (open === undefined) return;
    follow(req, res, open);
    refuse(deps, res, unknownExpectation);
  });
  server.on('connect', (req, socket) => answerConnect(req, socket, { ...deps, connections }));
  server.on('clientError', (error, socket) => answerParserFault(error, socket, { ...deps, connections, cutShort }));
  server.once('close', endUnreadAnswers(connections, timeouts.answerMs));
  logDrops(server, deps);
  return {
    listen: (port, host) => listenOn(server, port, host),
    close: () => {
      closing = true;
      connections.forEach(endWithLast);
      return closeLingering(server, connections, timeouts);
    },
  };
}

function listenOn(server: HttpServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Node's own server, with our limits. */
function createBoundedServer(timeouts: ApiServerDeps['timeouts'], connectionsMax: number): HttpServer {
  const server = createServer({
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeoutCheckMs,
    maxHeaderSize: headerBytesMax,
    // Node would answer a missing Host by itself, with a bare 400.
    requireHostHeader: false,
  });
  // By default Node 20 silently drops fields past some thousand: a proxy's X-Forwarded-For, or a key. With 0, all that
  // fit into the bytes above are read.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  return server;
}

/** Logs that connections are refused; a line for each would be a flood on top of the flood. */
function logDrops(server: HttpServer, { connectionsMax, logger }: ApiServerDeps): void {
  let loggedAtMs = -Infinity;
  server.on('drop', () => {
    if (performance.now() - loggedAtMs < dropLogEveryMs) return;
    loggedAtMs = performance.now();
    logger.warn({ connectionsMax }, 'Connections are refused: too many are open.');
  });
}

interface Tracked {
  /** The answers that are open on the request's connection. */
  open: ServerResponse[];
  cutShort: WeakMap<Duplex, IncomingMessage>;
  readAhead: ReadAhead | undefined;
  answerLimit: AnswerLimit;
}

/**
 * For every request, whichever event of Node brought it: keeps the list of open answers and the counts up to date, and
 * notes a request that was answered before it had arrived whole.
 */
function track(req: IncomingMessage, res: ServerResponse, { open, cutShort, readAhead, answerLimit }: Tracked): void {
  open.push(res);
  answerLimit.opened();
  readAhead?.opened();
  // If the connection breaks, Node 20 does not tell an answer that waits for another; the connection's own listener
  // takes it off the list.
  res.once('close', () => {
    const place = open.indexOf(res);
    if (place >= 0) answerLimit.closed(open.splice(place, 1).length);
    readAhead?.closed();
    if (!req.complete) cutShort.set(req.socket, req);
  });
}

const unknownExpectation = fail('EXPECTATION_FAILED', 'Of expectations only 100-continue can be met.');

function refuse(
  { onRefused }: Pick<ApiServerDeps, 'onRefused'>,
  res: ServerResponse,
  result: Refusal,
  { lastOfConnection = false } = {},
): void {
  const requestId = newRequestId();
  onRefused(result.error, requestId);
  sendReply(res, { requestId, reply: { result }, lastOfConnection });
}
